#include "sim/engine/place_pairs.hpp"

#include <doctest/doctest.h>

using namespace stagecraft;

TEST_CASE("place pairs: a pair has one number, and the way back another") {
  PlacePairs pairs;
  CHECK(pairs.number_of(PlaceId(3), PlaceId(1)) == 0);
  CHECK(pairs.number_of(PlaceId(1), PlaceId(3)) == 1);
  CHECK(pairs.number_of(PlaceId(3), PlaceId(1)) == 0);
  CHECK(pairs.number_of(PlaceId(0), PlaceId(1)) == 2);
  CHECK(pairs.number_of(PlaceId(1), PlaceId(3)) == 1);
  CHECK(pairs.items() ==
        std::vector<PlacePairs::Pair>{{PlaceId(3), PlaceId(1)}, {PlaceId(1), PlaceId(3)}, {PlaceId(0), PlaceId(1)}});
}
