#include "sim/base/error.hpp"
#include "tests/schedule/compiled.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

TEST_CASE("literal: without its file there are no orders, and all microbatches may be in flight") {
  const ScheduleProgram program = compiled(straight(2, 3, "literal"));
  CHECK(program.orders_are_given);
  CHECK(program.in_flight == std::vector<std::int64_t>{3, 3});
  CHECK_THROWS_WITH_AS(program.orders({0, 3}), doctest::Contains("needs the file"), InputError);
}

}  // namespace
}  // namespace stagecraft
