#include "sim/engine/place_pairs.hpp"

#include <doctest/doctest.h>

using namespace stagecraft;

namespace {

Op transfer(std::uint32_t from, std::uint32_t to, Leg leg = Leg::Whole) {
  Op op;
  op.kind = OpKind::Activation;
  op.from = PlaceId(from);
  op.to = PlaceId(to);
  op.leg = leg;
  return op;
}

}  // namespace

TEST_CASE("place pairs: a pair has one number, and the way back another") {
  PlacePairs pairs;
  CHECK(pairs.number_of(transfer(3, 1)) == 0);
  CHECK(pairs.number_of(transfer(1, 3)) == 1);
  CHECK(pairs.number_of(transfer(3, 1)) == 0);
  CHECK(pairs.number_of(transfer(0, 1)) == 2);
  CHECK(pairs.number_of(transfer(1, 3)) == 1);
  CHECK(pairs.items() ==
        std::vector<PlacePairs::Pair>{{PlaceId(3), PlaceId(1)}, {PlaceId(1), PlaceId(3)}, {PlaceId(0), PlaceId(1)}});
}

TEST_CASE("place pairs: each leg of a pair's way has a number of its own") {
  PlacePairs pairs;
  CHECK(pairs.number_of(transfer(0, 1)) == 0);
  CHECK(pairs.number_of(transfer(0, 1, Leg::ToHost)) == 1);
  CHECK(pairs.number_of(transfer(0, 1, Leg::BetweenHosts)) == 2);
  CHECK(pairs.number_of(transfer(0, 1, Leg::FromHost)) == 3);
  CHECK(pairs.number_of(transfer(0, 1, Leg::ToHost)) == 1);
  CHECK(pairs.items()[3] == PlacePairs::Pair{PlaceId(0), PlaceId(1), Leg::FromHost});
}
