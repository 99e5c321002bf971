// What planners claim where stages have parameters in common, against evaluations.

#include "planners/registry.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/pipeline_claim.hpp"
#include "planners/shared/savings/memory_policy.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <string>
#include <variant>

namespace stagecraft {
namespace {

using testing::chain;
using testing::flat_platform;

/// Four equal layers; the first and the last have 90 of their 100 bytes in common. An exchange takes 9 s.
LayerGraph tied_chain() {
  LayerGraph graph = chain({1, 1, 1, 1});
  for (Layer& layer : graph.layers) layer.output = Bytes(0);
  for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(0);
  graph.tied = {{{LayerId(0), LayerId(3)}, Bytes(90)}};
  return graph;
}

double evaluated(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  const ScheduleProgram program = require_schedule(graph, platform, plan);
  const Report report = evaluate_until_converged(graph, platform, program);
  return report.period ? report.period->value() : report.iterations.back().value();
}

}  // namespace

TEST_CASE("tied claims: planners count the exchange between stages") {
  const LayerGraph graph = tied_chain();
  const Platform platform = flat_platform(4, 10.0, Bytes(100'000));
  for (const std::string name : {"contiguous", "madpipe", "spp", "dapple", "uniform", "gpipe", "vpipe", "pipedream"}) {
    CAPTURE(name);
    const PlannerInfo& planner = find_planner(name);
    const Options options = parse_options(planner, {});
    const PlanResult result =
        plan_within_memory(planner, {graph, platform, {planner.default_schedule, {}}, 8, Training{}, options});
    REQUIRE(std::holds_alternative<Planned>(result));
    const Plan& plan = std::get<Planned>(result).plan;
    CHECK(claimed_time(plan).value() == doctest::Approx(evaluated(graph, platform, plan)).epsilon(1e-3));
  }
}

// Stage 0 on a device of its own runs every microbatch (3 s), stage 1 every third one on each of its replicas (9 s).
// Two of three rounds take 2 + 1 s; the third waits for the all-reduce of 2 (3/4) 90 / 10 = 13.5 s after its backward.
TEST_CASE("tied claims: an asynchronous period is the mean of the rounds between two exchanges") {
  LayerGraph graph = chain({1, 3});
  for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(0);
  graph.tied = {{{LayerId(0), LayerId(1)}, Bytes(90)}};
  const Platform platform = flat_platform(4, 10.0);
  Plan plan;
  plan.microbatch_size = 840;
  plan.microbatches = 60;
  plan.schedule.name = "pipedream";
  plan.stages.resize(2);
  plan.stages[0].layers = {LayerId(0)};
  plan.stages[0].replicas = {DeviceId(0)};
  plan.stages[1].layers = {LayerId(1)};
  plan.stages[1].replicas = {DeviceId(1), DeviceId(2), DeviceId(3)};
  const Figures claim = pipeline_claim(graph, platform, plan);
  CHECK(claim.period->value() == doctest::Approx((2 * 3 + 2 + 13.5) / 3));
}

}  // namespace stagecraft
