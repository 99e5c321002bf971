#include "tests/schedule/compiled.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

TEST_CASE("gpipe: all forwards, then all backwards") {
  const ScheduleProgram program = compiled(straight(2, 3, "gpipe"));
  CHECK(program.synchronous);
  CHECK(program.in_flight == std::vector<std::int64_t>{3, 3});
  CHECK(order_text(program.orders({0, 3}).devices[0]) == "F0.0 F0.1 F0.2 B0.0 B0.1 B0.2");
  CHECK(order_text(program.orders({1, 3}).devices[0]) == "B0.1 B0.2");
}

TEST_CASE("gpipe: a cap that it cannot keep is refused") {
  Plan plan = straight(2, 3, "gpipe");
  plan.stages[1].in_flight = 2;
  CHECK(refusal_of(plan) == "gpipe keeps all 3 microbatches of stage 1 in flight, more than its cap of 2");
  plan.stages[1].replicas = {DeviceId(1), DeviceId(2)};  // two microbatches on the first, one on the other
  CHECK(refusal_of(plan).empty());
}

}  // namespace
}  // namespace stagecraft
