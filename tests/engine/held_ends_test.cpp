#include "sim/engine/held_ends.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

TEST_CASE("held ends: an operation ends when its time is over and what holds it up has ended") {
  HeldEnds ends;
  CHECK(!ends.hold({OpId(1), 0}));
  CHECK(!ends.release(7));
  ends.add(1, 7);
  CHECK(!ends.release(6));
  CHECK(!ends.hold({OpId(2), 0}));
  CHECK(ends.hold({OpId(1), 0}));
  const std::optional<Start> released = ends.release(7);
  REQUIRE(released.has_value());
  CHECK(released->op == OpId(1));
  CHECK(!ends.hold({OpId(1), 0}));
}

TEST_CASE("held ends: what held it up ends first") {
  HeldEnds ends;
  ends.add(1, 7);
  CHECK(!ends.release(7));
  CHECK(!ends.hold({OpId(1), 0}));
}

TEST_CASE("held ends: of an operation that starts again the last start counts") {
  HeldEnds ends;
  ends.add(1, 7);
  CHECK(ends.hold({OpId(1), 0}));
  CHECK(ends.hold({OpId(1), 1}));
  CHECK(ends.release(7)->generation == 1);
}

}  // namespace
}  // namespace stagecraft
