// Planners that are asked for a periodic schedule: their plans carry its pattern, and the ledger is exact.
#include "planners/registry.hpp"
#include "planners/shared/costs/chain.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/lower.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/schedule/compiled.hpp"

#include <doctest/doctest.h>

namespace stagecraft::periodic_planning_test {
namespace {

PlanResult plan_star(const std::string& planner, const LayerGraph& graph, const Platform& platform,
                     const Detail::Record& parameters = {},
                     const std::vector<std::pair<std::string, std::string>>& options = {}) {
  const PlannerInfo& info = find_planner(planner);
  return info.plan({graph, platform, {"1f1b-star", parameters}, 40, {}, parse_options(info, options)});
}

/// Half-duplex exclusive links without latency.
Platform exclusive_platform(std::size_t count, double bandwidth, Bytes memory,
                            std::optional<BytesPerSecond> update_bandwidth = std::nullopt) {
  PlatformSpec spec = testing::flat_platform(count, bandwidth, memory).spec;
  spec.device_kinds[DeviceKindId(0)].update_bandwidth = update_bandwidth;
  auto& link = *std::get<ExplicitForm>(spec.form).default_link;
  link.duplex = Duplex::Half;
  link.sharing = Sharing::Exclusive;
  return build_platform(std::move(spec));
}

void check_as_evaluated(const LayerGraph& graph, const Platform& platform, Plan plan) {
  REQUIRE(plan.pattern.has_value());
  CHECK(*plan.predicted.period >= plan.pattern->period);
  plan.microbatches = std::max(plan.microbatches, testing::least_length(plan));
  const Figures evaluated = evaluate_plan(graph, platform, plan).figures();
  CHECK(evaluated.period->value() == doctest::Approx(plan.pattern->period.value()).epsilon(1e-9));
  CHECK(evaluated.peak_memory == plan.predicted.peak_memory);
}

TEST_CASE("periodic planning: uniform stages get the pattern of their cut, and their exact peaks") {
  const LayerGraph graph = testing::chain({1, 2, 3, 2, 1});
  for (const std::int64_t memory : {5000, 1560, 1540}) {
    const Platform platform = exclusive_platform(3, 10, Bytes(memory));
    const PlanResult result = plan_star("uniform", graph, platform);
    REQUIRE(std::holds_alternative<Planned>(result));
    check_as_evaluated(graph, platform, std::get<Planned>(result).plan);
  }
  const PlanResult none = plan_star("uniform", graph, exclusive_platform(3, 10, Bytes(900)));
  REQUIRE(std::holds_alternative<Infeasible>(none));
  CHECK(std::get<Infeasible>(none).smallest_memory.has_value());
}

TEST_CASE("periodic planning: less memory, a longer period") {
  const LayerGraph graph = testing::chain({2, 2, 2});
  double before = 0.0;
  std::size_t longer = 0;
  for (std::int64_t memory = 600; memory >= 500; memory -= 5) {
    const PlanResult result = plan_star("uniform", graph, exclusive_platform(3, 10, Bytes(memory)));
    if (!std::holds_alternative<Planned>(result)) break;
    const double period = std::get<Planned>(result).plan.pattern->period.value();
    CHECK(period >= before);
    if (period > before && before > 0.0) ++longer;
    before = period;
  }
  CHECK(longer > 0);
}

TEST_CASE("periodic planning: exhaustive passes over what the schedule cannot run") {
  const LayerGraph graph = testing::chain({1, 2, 3, 2});
  const Platform platform = exclusive_platform(3, 10, Bytes(5000));
  const PlanResult result = plan_star("exhaustive", graph, platform);
  REQUIRE(std::holds_alternative<Planned>(result));
  const Plan& plan = std::get<Planned>(result).plan;
  CHECK(plan.stages.size() == 3);
  CHECK(plan.pattern->period == Seconds(9));  // layers 0 and 1, 2, 3
  check_as_evaluated(graph, platform, plan);
  // A period that only some cuts can have; then one that none can.
  const PlanResult asked = plan_star("exhaustive", graph, platform, {{"period", "10 s"}});
  REQUIRE(std::holds_alternative<Planned>(asked));
  CHECK(std::get<Planned>(asked).plan.pattern->period == Seconds(10));
  CHECK(std::holds_alternative<Infeasible>(plan_star("exhaustive", graph, platform, {{"period", "8 s"}})));
}

TEST_CASE("periodic planning: an optimizer step counts in the backward, for planners and in the run") {
  const LayerGraph graph = testing::chain({1, 2, 3, 2, 1});
  // 100 bytes of weights, 100 of gradients and 200 of the optimizer's state take half a second.
  const Platform platform = exclusive_platform(3, 10, Bytes(50'000), BytesPerSecond(800));
  const PlannerInfo& uniform = find_planner("uniform");
  const Chain chain({graph, platform, {"1f1b-star", {}}, 40, {}, parse_options(uniform, {})}, kPeriodicWeightVersions);
  CHECK(to_seconds(chain.backward(0, 2)) == Seconds(7));  // 2 + 4, and 0.5 each
  const PlanResult result = plan_star("uniform", graph, platform);
  REQUIRE(std::holds_alternative<Planned>(result));
  check_as_evaluated(graph, platform, std::get<Planned>(result).plan);
}

}  // namespace
}  // namespace stagecraft::periodic_planning_test
