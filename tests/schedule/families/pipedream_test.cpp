#include "tests/schedule/compiled.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

using Counts = std::vector<std::int64_t>;

TEST_CASE("pipedream: the order of 1f1b without an end, with a weight version for each microbatch in flight") {
  const Plan plan = straight(3, 4, "pipedream");
  const ScheduleProgram program = compiled(plan);
  CHECK_FALSE(program.synchronous);
  CHECK(program.in_flight == Counts{3, 2, 1});
  CHECK(program.weight_versions == Counts{3, 2, 1});
  CHECK(program.steady_in_flight == 3);
  CHECK(program.orders({0, 4}) == compiled(straight(3, 4, "1f1b")).orders({0, 4}));
}

TEST_CASE("pipedream: pipelines whose replicas of the same layers differ in number are refused") {
  Plan plan = straight(2, 4, "pipedream");
  plan.stages[1].layers = plan.stages[0].layers;
  plan.stages[1].pipeline = 1;
  CHECK(refusal_of(plan).empty());
  plan.stages[1].replicas = {DeviceId(1), DeviceId(2)};
  CHECK(refusal_of(plan).starts_with(
      "pipedream runs an all-reduce after each round, in which every replica has had its turns; "
      "stages 0 and 1 hold the same layers, but 1 and 2 of their replicas"));
}

}  // namespace
}  // namespace stagecraft
