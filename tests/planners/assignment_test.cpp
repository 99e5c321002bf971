#include "planners/shared/turns/assignment.hpp"

#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace stagecraft::assignment_test {

namespace {

std::int64_t sum_of(const Assignment& problem, const std::vector<std::int64_t>& put) {
  return std::inner_product(put.begin(), put.end(), problem.costs.begin(), std::int64_t{0});
}

/// The kind of each single item or place.
std::vector<std::size_t> spread(const std::vector<std::int64_t>& counts) {
  std::vector<std::size_t> kinds;
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    kinds.insert(kinds.end(), static_cast<std::size_t>(counts[kind]), kind);
  }
  return kinds;
}

/// Over all ways to put the items in a row, the i-th of which goes to the i-th place.
std::int64_t least_of_all(const Assignment& problem) {
  std::vector<std::size_t> items = spread(problem.items);
  const std::vector<std::size_t> places = spread(problem.places);
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  do {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < items.size(); ++i) sum += problem.cost(items[i], places[i]);
    least = std::min(least, sum);
  } while (std::ranges::next_permutation(items).found);
  return least;
}

/// `count` in at most `kinds` parts of at least one each.
std::vector<std::int64_t> parts_of(std::int64_t count, int kinds, std::mt19937_64& random) {
  std::vector<std::int64_t> parts(static_cast<std::size_t>(kinds), 0);
  for (std::int64_t i = 0; i < count; ++i) ++parts[random() % parts.size()];
  std::erase(parts, 0);
  return parts;
}

}  // namespace

TEST_CASE("assignment: three items that all like the first place") {
  // Costs by item: 1 5 9 | 1 2 9 | 1 2 4. The item that loses least gives way: 1 + 2 + 4.
  const Assignment problem{{1, 1, 1}, {1, 1, 1}, {1, 5, 9, 1, 2, 9, 1, 2, 4}};
  CHECK(cheapest_assignment(problem) == std::vector<std::int64_t>{1, 0, 0, 0, 1, 0, 0, 0, 1});
}

TEST_CASE("assignment: equal costs leave the items in the order of the places") {
  const Assignment problem{{2, 1}, {1, 2}, {7, 7, 7, 7}};
  CHECK(cheapest_assignment(problem) == std::vector<std::int64_t>{1, 1, 0, 1});
}

TEST_CASE("assignment: costs no more than any other one") {
  std::mt19937_64 random(20);
  for (int i = 0; i < testing::random_cases(2000); ++i) {
    const auto count = static_cast<std::int64_t>(1 + random() % 7);
    Assignment problem{parts_of(count, 1 + static_cast<int>(random() % 7), random),
                       parts_of(count, 1 + static_cast<int>(random() % 7), random),
                       {}};
    const std::int64_t range = random() % 2 == 0 ? 4 : 1000;
    for (std::size_t j = 0; j < problem.items.size() * problem.places.size(); ++j) {
      problem.costs.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(range)) - range / 4);
    }
    const std::vector<std::int64_t> put = cheapest_assignment(problem);
    CAPTURE(i);
    CHECK(std::ranges::all_of(put, [](std::int64_t amount) { return amount >= 0; }));
    for (std::size_t item = 0; item < problem.items.size(); ++item) {
      const auto row = put.begin() + static_cast<std::ptrdiff_t>(item * problem.places.size());
      CHECK(std::accumulate(row, row + static_cast<std::ptrdiff_t>(problem.places.size()), std::int64_t{0}) ==
            problem.items[item]);
    }
    for (std::size_t place = 0; place < problem.places.size(); ++place) {
      std::int64_t filled = 0;
      for (std::size_t item = 0; item < problem.items.size(); ++item) {
        filled += put[item * problem.places.size() + place];
      }
      CHECK(filled == problem.places[place]);
    }
    CHECK(sum_of(problem, put) == least_of_all(problem));
  }
}

}  // namespace stagecraft::assignment_test
