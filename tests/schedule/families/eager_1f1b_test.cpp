#include "tests/schedule/compiled.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

TEST_CASE("eager-1f1b: twice the warm-up of 1f1b, and no more than there is") {
  const ScheduleProgram program = compiled(straight(3, 4, "eager-1f1b"));
  CHECK(program.synchronous);
  CHECK(program.in_flight == std::vector<std::int64_t>{4, 3, 1});
  const Schedule schedule = program.orders({0, 4});
  CHECK(order_text(schedule.devices[0]) == "F0.0 F0.1 F0.2 F0.3 B0.0 B0.1 B0.2 B0.3");
  CHECK(order_text(schedule.devices[1]) == "F1.0 F1.1 F1.2 B1.0 F1.3 B1.1 B1.2 B1.3");
}

}  // namespace
}  // namespace stagecraft
