#include "experiments/run/size_search.hpp"

#include "experiments/run/limits.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

namespace stagecraft {
namespace {

/// A question whose answers are known, and what was asked.
struct Known {
  std::set<std::int64_t> fitting;
  SizeAnswer refusal;  ///< for sizes that do not fit
  std::vector<std::int64_t> asked = {};

  SizeQuestion question(std::vector<std::int64_t> sizes) {
    return {.sizes = std::move(sizes), .ask = [this](std::int64_t size) {
              asked.push_back(size);
              return fitting.contains(size) ? SizeAnswer{true, 0, refusal.work} : refusal;
            }};
  }
};

std::set<std::int64_t> up_to(std::int64_t most) {
  const std::vector<std::int64_t> sizes = sizes_below(most + 1, std::nullopt);
  return {sizes.begin(), sizes.end()};
}

TEST_CASE("sizes: all below an end, or those that divide a whole") {
  CHECK(sizes_below(5, std::nullopt) == std::vector<std::int64_t>{1, 2, 3, 4});
  CHECK(sizes_below(1, std::nullopt).empty());
  CHECK(sizes_below(100, 12) == std::vector<std::int64_t>{1, 2, 3, 4, 6, 12});
  CHECK(sizes_below(12, 12) == std::vector<std::int64_t>{1, 2, 3, 4, 6});
  CHECK(sizes_below(std::int64_t{1} << 40, std::nullopt).back() == run_limits::kMostSizes - 1);
}

TEST_CASE("size search: finds the last size that fits, from every start, and each size is asked for once") {
  for (std::int64_t most = 0; most <= 40; ++most) {
    for (std::int64_t start = 1; start <= 40; ++start) {
      CAPTURE(most);
      CAPTURE(start);
      Known known{up_to(most), {}};
      const SizeQuestion question = known.question(sizes_below(41, std::nullopt));
      const SizeFound found = largest_size_from(question, start);
      CHECK(found.size == (most == 0 ? std::nullopt : std::optional(most)));
      CHECK_FALSE(found.ended_early);
      CHECK(std::set(known.asked.begin(), known.asked.end()).size() == known.asked.size());
    }
  }
}

TEST_CASE("size search: sizes that are too small do not end it, from every start") {
  for (std::int64_t least = 1; least <= 20; ++least) {
    for (std::int64_t most = least; most <= 20; ++most) {
      for (std::int64_t start = 1; start <= 21; ++start) {
        CAPTURE(least);
        CAPTURE(most);
        CAPTURE(start);
        SizeQuestion question;
        question.sizes = sizes_below(22, std::nullopt);
        question.ask = [&](std::int64_t size) {
          return SizeAnswer{.fits = size >= least && size <= most, .least = size < least ? least : 0};
        };
        CHECK(largest_size_from(question, start).size == most);
        CHECK(largest_size_below(question, {}).size == most);
      }
    }
  }
}

// 2^10 · 3 and more: from 32 it takes 7 doublings up to 4096, 11 bisections of 2048 sizes and 8 sizes above, of which
// bisection has asked for the first.
TEST_CASE("size search: takes as many questions as doublings, bisections and sizes above") {
  Known known{up_to(3072), {}};
  const SizeFound found = largest_size_from(known.question(sizes_below(1'000'000, std::nullopt)), 32);
  CHECK(found.size == 3072);
  CHECK(known.asked.size() <= 8 + 11 + 7);
  for (std::int64_t above = 3073; above <= 3072 + run_limits::kSizesAbove; ++above) {
    CHECK(std::ranges::count(known.asked, above) == 1);
  }
}

TEST_CASE("size search: among divisors, and where the largest of all fits") {
  Known known{{1, 2, 3, 4, 6, 12}, {}};
  CHECK(largest_size_from(known.question(sizes_below(100, 12)), 32).size == 12);
  Known few{{1, 2, 3}, {}};
  CHECK(largest_size_from(few.question(sizes_below(100, 12)), 32).size == 3);
}

// Fits: 1 to 10 and 14. From 8 on: 16 does not, bisection finds 10, and 14 is one of the 8 sizes above it.
TEST_CASE("size search: a gap of less than eight sizes is crossed") {
  Known known{up_to(10), {}};
  known.fitting.insert(14);
  CHECK(largest_size_from(known.question(sizes_below(1000, std::nullopt)), 8).size == 14);
}

TEST_CASE("size search: where smaller sizes may not fit, no size that fits is missed within the tries") {
  std::mt19937 random(11);
  for (int round = 0; round < testing::random_cases(400); ++round) {
    Known known{{}, SizeAnswer{.tries_below = 64}};
    for (std::int64_t size = 1; size <= 30; ++size) {
      if (random() % 3 == 0) known.fitting.insert(size);
    }
    CAPTURE(round);
    const std::optional<std::int64_t> last =
        known.fitting.empty() ? std::nullopt : std::optional(*known.fitting.rbegin());
    CHECK(largest_size_below(known.question(sizes_below(31, std::nullopt)), known.refusal).size == last);
    const auto start = static_cast<std::int64_t>(1 + random() % 60);
    const SizeFound found = largest_size_from(known.question(sizes_below(1000, std::nullopt)), start);
    CAPTURE(start);
    if (known.fitting.lower_bound(1) != known.fitting.end() && *known.fitting.begin() <= start) {
      CHECK(found.size == last);
    }
  }
}

TEST_CASE("size search: with a quick test few sizes are asked for") {
  std::mt19937 random(5);
  for (int round = 0; round < testing::random_cases(200); ++round) {
    const auto sure = static_cast<std::int64_t>(random() % 500);
    const auto most = sure + static_cast<std::int64_t>(random() % 3);
    const auto start = static_cast<std::int64_t>(1 + random() % 600);
    CAPTURE(sure);
    CAPTURE(most);
    CAPTURE(start);
    Known known{up_to(most), {}};
    SizeQuestion question = known.question(sizes_below(100'000, std::nullopt));
    question.surely_fits = [&](std::int64_t size) { return size <= sure; };
    CHECK(largest_size_from(question, start).size == (most == 0 ? std::nullopt : std::optional(most)));
    if (sure > 0) CHECK(known.asked.size() <= 4);  // the sure one, and one to three above it
    known.asked.clear();
    const SizeFound below = largest_size_below(known.question(sizes_below(600, std::nullopt)), {});
    CHECK(below.size == (most == 0 ? std::nullopt : std::optional(most)));
  }
}

// The quick test is wrong about 50 to 60: they are asked for and do not fit.
TEST_CASE("size search: what surely fits is asked for all the same") {
  Known known{up_to(49), {}};
  SizeQuestion question = known.question(sizes_below(1000, std::nullopt));
  question.surely_fits = [](std::int64_t size) { return size <= 60; };
  CHECK(largest_size_from(question, 8).size == 49);
}

// Eight answers are enough of a limit that is exceeded after seven and a half of them.
TEST_CASE("size search: work ends it early, and its answer is the largest that was seen to fit") {
  const SizeAnswer costly{.work = run_limits::kMostSearchWork / 7.5};
  Known known{up_to(300), costly};
  const SizeFound found = largest_size_from(known.question(sizes_below(1'000'000, std::nullopt)), 32);
  CHECK(found.ended_early);
  CHECK(known.asked == std::vector<std::int64_t>{32, 64, 128, 256, 512, 384, 320, 288});
  CHECK(found.size == 288);
  Known patient{up_to(300), costly};
  SizeQuestion question = patient.question(sizes_below(1'000'000, std::nullopt));
  question.most_asked = 22;
  const SizeFound whole = largest_size_from(question, 32);
  CHECK(whole.size == 300);
  CHECK_FALSE(whole.ended_early);
}

}  // namespace
}  // namespace stagecraft
