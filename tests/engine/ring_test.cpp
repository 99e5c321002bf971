#include "sim/engine/ring.hpp"

#include <doctest/doctest.h>

using namespace stagecraft;

TEST_CASE("ring: items keep their positions while the front is dropped and the store grows") {
  Ring<std::uint64_t> ring;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    CHECK(ring.push_back(i * i) == i);
    if (i % 3 == 2) ring.drop_before(ring.begin() + 2);  // two of three leave: the live part grows
    for (std::uint64_t k = ring.begin(); k < ring.end(); ++k) REQUIRE(ring[k] == k * k);
  }
  CHECK(ring.begin() == 666);
  CHECK(ring.end() == 1000);
}
