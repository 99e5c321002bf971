#include "tests/schedule/compiled.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

using Counts = std::vector<std::int64_t>;

TEST_CASE("1f1b: p - i in flight, a forward and a backward in turn after the warm-up") {
  const ScheduleProgram program = compiled(straight(3, 4, "1f1b"));
  CHECK(program.synchronous);
  CHECK(program.strict);
  CHECK_FALSE(program.at_once);
  CHECK(program.in_flight == Counts{3, 2, 1});
  CHECK(program.weight_versions == Counts{1, 1, 1});
  const Schedule schedule = program.orders({0, 4});
  CHECK(order_text(schedule.devices[0]) == "F0.0 F0.1 F0.2 B0.0 F0.3 B0.1 B0.2 B0.3");
  CHECK(order_text(schedule.devices[2]) == "F2.0 B2.0 F2.1 B2.1 F2.2 B2.2 F2.3 B2.3");
}

TEST_CASE("1f1b: segments, one after the other, are the whole order") {
  const ScheduleProgram program = compiled(straight(3, 7, "1f1b"));
  const Schedule whole = program.orders({0, 7});
  Schedule joined = program.orders({0, 2});
  for (const Segment segment : {Segment{2, 3}, Segment{3, 7}}) {
    const Schedule next = program.orders(segment);
    for (std::size_t d = 0; d < joined.devices.size(); ++d) {
      auto& actions = joined.devices[d].actions;
      actions.insert(actions.end(), next.devices[d].actions.begin(), next.devices[d].actions.end());
    }
  }
  CHECK(joined == whole);
}

TEST_CASE("1f1b: replicas take microbatches in turn, and a plan's own weight versions stand above one") {
  Plan plan = straight(2, 5, "1f1b");
  plan.stages[0].replicas = {DeviceId(0), DeviceId(2)};
  plan.stages[1].weight_versions = 3;
  const ScheduleProgram program = compiled(plan);
  CHECK(program.in_flight == Counts{2, 1});  // three ranks from stage 0 on, two of them its own
  CHECK(program.weight_versions == Counts{1, 3});
  CHECK(order_text(program.orders({0, 5}).devices[1]) == "F0.1 F0.3 B0.1 B0.3");
}

TEST_CASE("1f1b: stages that share a device have their orders all at once") {
  Plan plan = straight(2, 2, "1f1b");
  plan.stages[1].replicas = {DeviceId(0)};
  const ScheduleProgram program = compiled(plan);
  CHECK(program.at_once);
  CHECK(order_text(program.orders({0, 2}).devices.front()) == "F0.0 F1.0 B1.0 B0.0 F0.1 F1.1 B1.1 B0.1");
  CHECK(program.orders({1, 2}).devices.empty());
}

TEST_CASE("schedules: an unknown one is refused with the nearest name") {
  const Plan plan = straight(2, 2, "1f2b");
  CHECK(refusal_of(plan) == "unknown schedule '1f2b'");
  const Compilation compilation = compile_schedule(chain(2, 1, 2), pairwise(2), plan);
  CHECK(std::get<ScheduleRefusals>(compilation).front().hint.starts_with("did you mean '1f1b'?"));
}

TEST_CASE("schedules: every wrong parameter is a refusal") {
  Plan plan = straight(2, 2, "1f1b");
  plan.schedule.parameters = {{"chunks", 2}, {"depth", 3}};
  const Compilation compilation = compile_schedule(chain(2, 1, 2), pairwise(2), plan);
  CHECK(std::get<ScheduleRefusals>(compilation).size() == 2);
}

}  // namespace
}  // namespace stagecraft
