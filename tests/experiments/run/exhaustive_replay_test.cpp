// What `exhaustive` answers with objective=replayed, beside what all other planners do, as a user would run it.
#include "planners/registry.hpp"
#include "sim/model/plan.hpp"
#include "tests/experiments/run/small_clusters.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>

namespace stagecraft::exhaustive_replay_test {

using namespace stagecraft::testing;

namespace {

/// Whether the plan is of runs of layers, each on devices of its own, in one pipeline without caps.
bool is_in_space(const LayerGraph& graph, const Plan& plan) {
  std::set<DeviceId> used;
  std::size_t next = 0;
  for (const Stage& stage : plan.stages) {
    if (stage.pipeline > 0 || stage.in_flight) return false;
    for (const LayerId layer : stage.layers) {
      if (layer.value() != next++) return false;
    }
    for (const DeviceId device : devices_of(stage)) {
      if (!used.insert(device).second) return false;
    }
  }
  return next == graph.layers.size();
}

}  // namespace

TEST_CASE("exhaustive: no plan of its space replays faster than the answer, whose objective is its replayed time") {
  int compared = 0;
  int slower = 0;
  const int cases = draws_all() ? 60 : 4;
  for (int number = 1; number <= cases; ++number) {
    const auto seed = static_cast<std::uint32_t>(number);
    CAPTURE(seed);
    const Inputs inputs = small_cluster(seed);
    const auto best = plan_and_replay(find_planner("exhaustive"), inputs, for_the_optimum());
    REQUIRE(best);
    CHECK(std::get<double>(detail(best->planned, "objective_s").value) == best->time.value());
    for (const PlannerInfo* planner : all_planners()) {
      CAPTURE(planner->name);
      const auto other = plan_and_replay(*planner, inputs, {});
      if (!other || !is_in_space(other->graph, other->planned.plan)) continue;
      ++compared;
      CHECK(best->time <= other->time * (1.0 + 2e-9));
      if (best->time < other->time) ++slower;
    }
  }
  CHECK(compared > cases * 20 / 3);
  CHECK(slower > cases * 10 / 3);
}

TEST_CASE("exhaustive: skipping replays changes neither the plan nor the runner-up") {
  for (std::uint32_t seed = 1; seed <= random_cases(30U); ++seed) {
    CAPTURE(seed);
    Inputs inputs = small_cluster(3 * seed);  // 2 x 2 devices
    GivenOptions options{{"objective", "replayed"}, {"devices", seed % 2 == 0 ? "any" : "order"}};
    const auto pruned = plan_and_replay(find_planner("exhaustive"), inputs, options);
    options.emplace_back("prune", "false");
    const auto whole = plan_and_replay(find_planner("exhaustive"), inputs, options);
    REQUIRE(pruned);
    REQUIRE(whole);
    CHECK(pruned->planned.plan == whole->planned.plan);
    CHECK(detail(pruned->planned, "runner_up") == detail(whole->planned, "runner_up"));
  }
}

}  // namespace stagecraft::exhaustive_replay_test
