#include "sim/schedule/ring_packing.hpp"

#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace stagecraft::ring_packing_test {
namespace {

constexpr std::size_t kAll = 1000;

/// Takes the ring's links out of the widths; whether there were as many.
bool take(const RingOrder& ring, RingWidths& widths) {
  bool fits = true;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const std::size_t from = ring[i];
    const std::size_t to = ring[(i + 1) % ring.size()];
    --widths[to][from];
    fits = --widths[from][to] >= 0 && fits;
  }
  return fits;
}

/// The most rings, by trying all orders of the members for each.
std::size_t most_rings(const RingWidths& widths) {
  RingOrder ring(widths.size());
  std::iota(ring.begin(), ring.end(), std::size_t{0});
  std::size_t most = 0;
  do {
    RingWidths left = widths;
    if (ring[1] < ring.back() && take(ring, left)) most = std::max(most, 1 + most_rings(left));
  } while (std::next_permutation(ring.begin() + 1, ring.end()));
  return most;
}

RingWidths random_widths(std::size_t members, std::mt19937& random) {
  RingWidths widths(members, std::vector<std::int64_t>(members));
  for (std::size_t i = 0; i < members; ++i) {
    for (std::size_t k = 0; k < i; ++k) widths[i][k] = widths[k][i] = static_cast<std::int64_t>(random() % 3);
  }
  return widths;
}

TEST_CASE("ring packing: as many rings as there are, each through all members and over free links") {
  std::mt19937 random(7);
  std::size_t with_rings = 0;
  for (std::uint32_t i = 0; i < testing::random_cases(300U); ++i) {
    const RingWidths widths = random_widths(3 + i % 3, random);
    const std::vector<RingOrder> rings = pack_rings(widths, kAll);
    CHECK(rings.size() == most_rings(widths));
    if (!rings.empty()) ++with_rings;
    RingWidths left = widths;
    for (RingOrder ring : rings) {
      CHECK(take(ring, left));
      std::ranges::sort(ring);
      CHECK(std::ranges::adjacent_find(ring) == ring.end());
      CHECK(ring.size() == widths.size());
    }
    CHECK(pack_rings(widths, 1).size() == std::min<std::size_t>(1, rings.size()));
  }
  CHECK(with_rings > testing::random_cases(100U));
}

// No more than half of the width at a member: in a complete graph of odd order there are as many (Walecki, 1892).
TEST_CASE("ring packing: all links of complete graphs") {
  for (const std::size_t members : {3U, 5U, 7U, 9U, 11U}) {
    RingWidths widths(members, std::vector<std::int64_t>(members, 1));
    for (std::size_t i = 0; i < members; ++i) widths[i][i] = 0;
    CHECK(pack_rings(widths, kAll).size() == (members - 1) / 2);
  }
}

}  // namespace
}  // namespace stagecraft::ring_packing_test
