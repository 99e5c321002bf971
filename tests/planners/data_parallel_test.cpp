#include "planners/registry.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

namespace stagecraft::data_parallel_test {

using namespace stagecraft::testing;

namespace {

const PlannerInfo& planner() { return find_planner("data-parallel"); }

PlanResult run_with(const std::string& schedule, const LayerGraph& graph, const Platform& platform,
                    std::int64_t microbatches) {
  return planner().plan({graph, platform, {schedule, {}}, microbatches, {}, parse_options(planner(), {})});
}

}  // namespace

TEST_CASE("data-parallel: an iteration is the rounds of the slowest replica and one ring all-reduce") {
  // Forward 3 s, backward 6 s; 200 B of parameters over 100 B/s among 4: 2 · 3 / 4 · 200 / 100 = 3 s.
  // 10 microbatches over 4 replicas are 3 rounds: 3 · 9 + 3 = 30 s.
  const LayerGraph graph = chain({1, 2});
  const Platform platform = flat_platform(4);
  const PlanResult result = run_with("1f1b", graph, platform, 10);
  REQUIRE(std::holds_alternative<Planned>(result));
  const Plan& plan = std::get<Planned>(result).plan;
  REQUIRE(plan.stages.size() == 1);
  CHECK(plan.stages[0].replicas.size() == 4);
  CHECK(plan.stages[0].layers == std::vector<LayerId>{LayerId(0), LayerId(1)});
  CHECK(plan.predicted.iteration_time->value() == doctest::Approx(30.0).epsilon(1e-12));
  CHECK_FALSE(plan.predicted.period.has_value());
}

TEST_CASE("data-parallel: an asynchronous round hides the all-reduce behind the next forward") {
  const LayerGraph graph = chain({1, 2});
  // The all-reduce of 3 s is as long as the forward: 9 s for 4 microbatches. At half the bandwidth it takes 6 s.
  const PlanResult hidden = run_with("pipedream", graph, flat_platform(4), 40);
  CHECK(std::get<Planned>(hidden).plan.predicted.period->value() == doctest::Approx(9.0 / 4).epsilon(1e-12));
  const PlanResult exposed = run_with("pipedream", graph, flat_platform(4, 50), 40);
  CHECK(std::get<Planned>(exposed).plan.predicted.period->value() == doctest::Approx(12.0 / 4).epsilon(1e-12));
}

TEST_CASE("data-parallel: the slowest device sets the pace, the update moves all copies of the weights") {
  PlatformSpec spec = flat_platform(2).spec;
  spec.device_kinds.push_back({"B", Bytes(1'000'000), 0.5, Bytes(0), BytesPerSecond(400)});
  std::get<ExplicitForm>(spec.form).devices[DeviceId(1)].kind = DeviceKindId(1);
  // 9 s on A are 18 s on B; all-reduce 2 · 1 / 2 · 200 / 100 = 2 s; update (1 + 1 + 2) · 200 / 400 = 2 s; 4 rounds.
  const PlanResult result = run_with("1f1b", chain({1, 2}), build_platform(spec), 8);
  CHECK(std::get<Planned>(result).plan.predicted.iteration_time->value() ==
        doctest::Approx(4 * 18.0 + 4.0).epsilon(1e-12));
}

TEST_CASE("data-parallel: a model that does not fit is infeasible by the bytes of the ledger") {
  // Weights, gradients and two optimizer copies: 4 · 200 B. 1f1b keeps one microbatch in flight, 2 · 10 B of stash;
  // gpipe keeps the four of each replica.
  const LayerGraph graph = chain({1, 2});
  const PlanResult fits = run_with("1f1b", graph, flat_platform(2, 100, Bytes(820)), 8);
  REQUIRE(std::holds_alternative<Planned>(fits));
  CHECK(std::get<Planned>(fits).plan.predicted.peak_memory[1].second == Bytes(820));
  const PlanResult over = run_with("gpipe", graph, flat_platform(2, 100, Bytes(820)), 8);
  REQUIRE(std::holds_alternative<Infeasible>(over));
  CHECK(std::get<Infeasible>(over).excess == Bytes(60));
  CHECK(std::get<Infeasible>(over).stage == 0U);
}

TEST_CASE("data-parallel: an unknown schedule is refused") {
  CHECK_THROWS_AS((void)run_with("1f1c", chain({1}), flat_platform(2), 8), InputError);
}

TEST_CASE("data-parallel: each microbatch may be divided among all devices") {
  LayerGraph graph = chain({1, 2});
  graph.microbatch_size = 4;
  const auto split = [&](const std::string& schedule, std::int64_t microbatches) {
    const Platform platform = flat_platform(4);
    return planner().plan(
        {graph, platform, {schedule, {}}, microbatches, {}, parse_options(planner(), {{"replication", "split"}})});
  };
  // A quarter of 9 s for each of 6 microbatches, then 2 · 3 / 4 · 200 / 100 = 3 s of all-reduce.
  const PlanResult flushed = split("1f1b", 6);
  const Plan& plan = std::get<Planned>(flushed).plan;
  CHECK(plan.stages[0].replication == Replication::Split);
  CHECK(plan.predicted.iteration_time->value() == doctest::Approx(6 * 9.0 / 4 + 3).epsilon(1e-12));
  CHECK(evaluate_plan(graph, flat_platform(4), plan).iterations.back().value() ==
        doctest::Approx(6 * 9.0 / 4 + 3).epsilon(1e-12));
  // Asynchronous: all reduce after every microbatch, longer than its forward of 0.75 s.
  CHECK(std::get<Planned>(split("pipedream", 40)).plan.predicted.period->value() ==
        doctest::Approx(6.0 / 4 + 3).epsilon(1e-12));

  graph.microbatch_size = 3;
  const PlanResult none = split("1f1b", 6);
  REQUIRE(std::holds_alternative<Infeasible>(none));
  CHECK(std::get<Infeasible>(none).reason == "a microbatch of 3 samples cannot be divided among 4 devices");
}

}  // namespace stagecraft::data_parallel_test
