// What planners claim where passes and updates have overheads, against evaluations.

#include "planners/registry.hpp"
#include "planners/shared/costs/chain.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/savings/memory_policy.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace stagecraft::planner_overheads_test {

using testing::chain;
using testing::flat_platform;

namespace {

LayerGraph quiet_chain(const std::vector<double>& times) {
  LayerGraph graph = chain(times);
  for (Layer& layer : graph.layers) layer.output = Bytes(0);
  for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(0);
  return graph;
}

Platform with_overheads(std::size_t devices, double pass, double update) {
  PlatformSpec spec = flat_platform(devices, 1e9, Bytes(1'000'000)).spec;
  spec.device_kinds[DeviceKindId(0)].pass_overhead = Seconds(pass);
  spec.device_kinds[DeviceKindId(0)].update_overhead = Seconds(update);
  return build_platform(std::move(spec));
}

double evaluated(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  const ScheduleProgram program = require_schedule(graph, platform, plan);
  const Report report = evaluate_until_converged(graph, platform, program);
  return report.period ? report.period->value() : report.iterations.back().value();
}

Plan planned(const std::string& name, const LayerGraph& graph, const Platform& platform, std::int64_t microbatches) {
  const PlannerInfo& planner = find_planner(name);
  const PlanResult result = plan_within_memory(planner, {.graph = graph,
                                                         .platform = platform,
                                                         .schedule = {planner.default_schedule, {}},
                                                         .microbatches = microbatches,
                                                         .training = {},
                                                         .options = parse_options(planner, {})});
  REQUIRE(std::holds_alternative<Planned>(result));
  return std::get<Planned>(result).plan;
}

}  // namespace

TEST_CASE("planners with overheads: what they claim is what a run takes") {
  const LayerGraph graph = quiet_chain({1, 1, 1, 1});
  for (const auto& [pass, update] : {std::pair(0.25, 0.0), std::pair(0.0, 3.0), std::pair(0.5, 2.0)}) {
    const Platform platform = with_overheads(4, pass, update);
    for (const PlannerInfo* planner : all_planners()) {
      if (wants_judge(*planner, parse_options(*planner, {}))) continue;  // claims what it has replayed
      CAPTURE(pass);
      CAPTURE(update);
      CAPTURE(planner->name);
      const Plan plan = planned(planner->name, graph, platform, 8);
      CHECK(claimed_time(plan).value() == doctest::Approx(evaluated(graph, platform, plan)).epsilon(1e-3));
    }
  }
}

TEST_CASE("planners with overheads: each stage of a chain has them once, however many layers it has") {
  const LayerGraph graph = quiet_chain({1, 1, 1});
  const Platform platform = with_overheads(2, 0.5, 4.0);
  const PlannerInfo& planner = find_planner("madpipe");
  const PlanRequest request{.graph = graph,
                            .platform = platform,
                            .schedule = {planner.default_schedule, {}},
                            .microbatches = 8,
                            .training = {},
                            .options = parse_options(planner, {})};
  const Chain with(request, 2);
  const Platform plain = with_overheads(2, 0.0, 0.0);
  const PlanRequest other{.graph = graph,
                          .platform = plain,
                          .schedule = request.schedule,
                          .microbatches = 8,
                          .training = {},
                          .options = request.options};
  const Chain without(other, 2);
  CHECK(with.overhead() == ticks_up(Seconds(2 * 0.5 + 4.0)));
  for (std::size_t begin = 0; begin <= 3; ++begin) {
    for (std::size_t end = begin; end <= 3; ++end) {
      CAPTURE(begin);
      CAPTURE(end);
      const bool is_stage = begin < end;
      CHECK(with.forward(begin, end) - without.forward(begin, end) == (is_stage ? ticks_up(Seconds(0.5)) : 0));
      CHECK(with.backward(begin, end) - without.backward(begin, end) == (is_stage ? ticks_up(Seconds(4.5)) : 0));
    }
  }
  CHECK(with.most_load() == without.load(0, 3) + 3 * with.overhead());
}

}  // namespace stagecraft::planner_overheads_test
