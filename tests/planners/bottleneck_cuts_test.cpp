#include "planners/shared/cuts/bottleneck_cuts.hpp"

#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace stagecraft::bottleneck_cuts_test {

using namespace stagecraft::testing;

namespace {

constexpr double kForbidden = std::numeric_limits<double>::infinity();

/// Pieces that take a time of their own for each item, and hold no more than a number of items of their own.
struct Pieces {
  std::vector<double> prefix;
  std::vector<double> factors;
  std::vector<std::size_t> most;

  [[nodiscard]] double cost(std::size_t piece, std::size_t begin, std::size_t end) const {
    return end - begin > most[piece] ? kForbidden : factors[piece] * (prefix[end] - prefix[begin]);
  }
};

Pieces random_pieces(std::mt19937& random, std::size_t items, std::size_t pieces) {
  Pieces drawn{{0.0}, {}, {}};
  const bool alike = random() % 2 == 0;
  const bool limited = random() % 3 == 0;
  for (std::size_t i = 0; i < items; ++i)
    drawn.prefix.push_back(drawn.prefix.back() + static_cast<double>(random() % 5));
  for (std::size_t p = 0; p < pieces; ++p) {
    drawn.factors.push_back(alike ? 1.0 : static_cast<double>(1 + random() % 4));
    drawn.most.push_back(limited ? 1 + random() % items : items);
  }
  return drawn;
}

/// The same program, which looks at every place for every piece.
std::vector<std::size_t> all_looked_at(const Pieces& pieces) {
  const std::size_t items = pieces.prefix.size() - 1;
  const std::size_t count = pieces.factors.size();
  std::vector<std::vector<double>> best(count, std::vector<double>(items + 1, kForbidden));
  std::vector<std::vector<std::size_t>> cut(count, std::vector<std::size_t>(items + 1, 0));
  for (std::size_t j = 1; j <= items; ++j) best[0][j] = pieces.cost(0, 0, j);
  for (std::size_t p = 1; p < count; ++p) {
    for (std::size_t j = p + 1; j <= items; ++j) {
      for (std::size_t i = p; i < j; ++i) {
        const double largest = std::max(best[p - 1][i], pieces.cost(p, i, j));
        if (largest > best[p][j] || largest == kForbidden) continue;
        best[p][j] = largest;
        cut[p][j] = i;
      }
    }
  }
  if (best[count - 1][items] == kForbidden) return {};
  std::vector<std::size_t> first(count);
  for (std::size_t p = count, end = items; p-- > 1;) first[p] = end = cut[p][end];
  return first;
}

}  // namespace

TEST_CASE("bottleneck cuts: those of a program that looks at every place") {
  std::mt19937 random(5);
  int forbidden = 0;
  for (int round = 0; round < random_cases(3000); ++round) {
    CAPTURE(round);
    const std::size_t items = 1 + random() % 30;
    const std::size_t count = 1 + random() % std::min<std::size_t>(items, 6);
    const Pieces pieces = random_pieces(random, items, count);
    const auto cost = [&](std::size_t piece, std::size_t begin, std::size_t end) {
      return pieces.cost(piece, begin, end);
    };
    const std::vector<std::size_t> first = bottleneck_cuts(items, count, cost);
    CHECK(first == all_looked_at(pieces));
    forbidden += first.empty() ? 1 : 0;
  }
  CHECK(forbidden > 0);
}

TEST_CASE("bottleneck cuts: few places of a long chain are looked at") {
  constexpr std::size_t kItems = 4096;
  constexpr std::size_t kPieces = 8;
  std::int64_t looks = 0;
  const auto cost = [&](std::size_t /*piece*/, std::size_t begin, std::size_t end) {
    ++looks;
    return static_cast<double>(end - begin);
  };
  const std::vector<std::size_t> first = bottleneck_cuts(kItems, kPieces, cost);
  for (std::size_t p = 0; p < kPieces; ++p) CHECK(first[p] == p * kItems / kPieces);
  CHECK(looks < std::int64_t{20} * kPieces * kItems);  // bisections of at most log2(4096) = 12 steps, and a few more
}

}  // namespace stagecraft::bottleneck_cuts_test
