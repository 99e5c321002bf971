#include "planners/shared/cuts/shifted_layers.hpp"

#include "planners/registry.hpp"
#include "planners/shared/costs/evaluated_claim.hpp"
#include "planners/shared/cuts/balanced_cuts.hpp"
#include "planners/shared/savings/memory_policy.hpp"
#include "planners/shared/savings/stage_devices.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/model/graph_order.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/planners/saving_fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace stagecraft::shifted_layers_test {

using namespace stagecraft::testing;

namespace {

const PlannerInfo& uniform() { return find_planner("uniform"); }

PlanRequest interleaved(const LayerGraph& graph, const Platform& platform, std::int64_t chunks,
                        std::int64_t microbatches) {
  return {graph,        platform, {"interleaved-1f1b", {{"chunks", chunks}}},
          microbatches, {},       parse_options(uniform(), {{"replicas", "1"}})};
}

/// The cut with the least largest stage.
Plan balanced_by_stage(const PlanRequest& request) {
  Plan plan = empty_plan(uniform(), request);
  const std::size_t devices = request.platform.devices.size();
  BalancedCuts table = stage_cuts(request.graph, false);
  plan.stages = placed_stages(request.graph, request.platform,
                              largest_placement(request.schedule, devices, request.graph.layers.size()),
                              device_runs(devices, 1), table);
  plan.predicted = evaluated_claim(request, plan);
  return plan;
}

/// Calls `visit` with the plan in all cuts of its layers from `begin` on into its stages from `stage` on.
template <class Visit>
void for_all_cuts(const std::vector<LayerId>& order, Plan& plan, std::size_t stage, std::size_t begin,
                  const Visit& visit) {
  const std::size_t behind = plan.stages.size() - stage - 1;
  for (std::size_t end = behind == 0 ? order.size() : begin + 1; end + behind <= order.size(); ++end) {
    plan.stages[stage].layers = layers_in(order, begin, end);
    if (behind == 0) {
      visit(plan);
    } else {
      for_all_cuts(order, plan, stage + 1, end, visit);
    }
  }
}

Seconds least_claim(const PlanRequest& request, Plan plan) {
  Seconds least(std::numeric_limits<double>::infinity());
  for_all_cuts(canonical_order(request.graph), plan, 0, 0,
               [&](const Plan& other) { least = std::min(least, claimed_time(evaluated_claim(request, other))); });
  return least;
}

/// Equal or random times, and a head.
LayerGraph with_head(std::mt19937& random, std::size_t layers) {
  const bool is_even = random() % 2 == 0;
  std::vector<double> times(layers, 4.0);
  if (!is_even) std::ranges::generate(times, [&] { return 1.0 + static_cast<double>(random() % 9); });
  times.back() = 1.0 + static_cast<double>(random() % 25);
  return chain(times);
}

Platform of_two_speeds(std::mt19937& random, std::size_t devices, double bandwidth) {
  PlatformSpec spec = flat_platform(devices, bandwidth).spec;
  spec.device_kinds.push_back({"B", Bytes(1'000'000), 0.5, Bytes(0), std::nullopt});
  for (ExplicitDevice& device : std::get<ExplicitForm>(spec.form).devices) device.kind = DeviceKindId(random() % 4 / 3);
  return build_platform(spec);
}

}  // namespace

TEST_CASE("uniform: balances the chunks of each device together under interleaved-1f1b") {
  // Nine layers of 30 s and a head of 105 s, on two devices with three chunks and 12 microbatches, with free transfers:
  // the best of all cuts takes 2460 s, that with the least largest stage 2760 s.
  LayerGraph graph = chain({10, 10, 10, 10, 10, 10, 10, 10, 10, 35});
  for (Layer& layer : graph.layers) layer.output = layer.stash = layer.checkpoint = layer.parameters = Bytes(0);
  for (auto& edge : graph.edges) edge.bytes = Bytes(0);
  const Platform platform = flat_platform(2);
  PlanRequest request = interleaved(graph, platform, 3, 12);
  CHECK(least_claim(request, balanced_by_stage(request)).value() == doctest::Approx(2460.0).epsilon(1e-9));
  CHECK(claimed_time(balanced_by_stage(request)).value() == doctest::Approx(2760.0).epsilon(1e-9));
  for (const MemoryPolicy policy : {MemoryPolicy::Keep, MemoryPolicy::Cheapest}) {
    request.memory = policy;
    const PlanResult result = uniform().plan(request);
    REQUIRE(std::holds_alternative<Planned>(result));
    const Plan& plan = std::get<Planned>(result).plan;
    CHECK(claimed_time(plan).value() == doctest::Approx(2460.0).epsilon(1e-9));
    CHECK(evaluate_plan(graph, platform, plan).iterations.back().value() == doctest::Approx(2460.0).epsilon(1e-9));
  }
}

TEST_CASE("uniform: with chunks mostly the fastest of all cuts, and never slower than where stages are balanced") {
  const unsigned cases = random_cases(200U);
  unsigned fastest = 0;
  unsigned gains = 0;
  double worst = 1.0;
  for (unsigned seed = 1; seed <= cases; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::size_t devices = 2 + random() % 3;
    const std::size_t chunks = devices == 4 ? 2 : 2 + random() % 2;
    const LayerGraph graph = with_head(random, devices * chunks + 1 + random() % 6);
    const Platform platform = of_two_speeds(random, devices, seed % 2 == 0 ? 20.0 : 1e9);
    PlanRequest request = interleaved(graph, platform, static_cast<std::int64_t>(chunks),
                                      static_cast<std::int64_t>(devices * (1 + random() % 4)));
    request.options = parse_options(uniform(), {{"replicas", "1"}, {"stages", std::to_string(devices * chunks)}});
    const Plan start = balanced_by_stage(request);
    const PlanResult result = uniform().plan(request);
    REQUIRE(std::holds_alternative<Planned>(result));
    const Seconds own = claimed_time(std::get<Planned>(result).plan);
    const double ratio = own.value() / least_claim(request, start).value();
    CHECK(own <= claimed_time(start));
    CHECK(ratio >= 1.0 - 1e-9);
    worst = std::max(worst, ratio);
    if (ratio <= 1.0 + 1e-9) ++fastest;
    if (own < claimed_time(start)) ++gains;
  }
  CHECK(fastest >= cases * 3 / 4);
  CHECK(gains >= cases / 2);
  CHECK(worst <= 1.15);
}

TEST_CASE("uniform: with chunks it answers where the cut with balanced stages fits, and is no slower") {
  std::size_t fitting = 0;
  std::size_t faster = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    LayerGraph graph = stashing_chain(random, 7 + random() % 6);
    graph.layers.back().forward = graph.layers.back().forward * 3.0;
    const Platform platform = flat_platform(3, 1e6, Bytes(2000 + static_cast<std::int64_t>(random() % 10000)));
    const PlanRequest request = interleaved(graph, platform, 2, 6);
    const Plan start = balanced_by_stage(request);
    if (!std::holds_alternative<Planned>(judged(request, {start, {}}))) continue;
    ++fitting;
    const PlanResult result = uniform().plan(request);
    REQUIRE(std::holds_alternative<Planned>(result));
    const Plan& plan = std::get<Planned>(result).plan;
    CHECK(fits(graph, platform, plan));
    CHECK(claimed_time(plan) <= claimed_time(start));
    if (claimed_time(plan) < claimed_time(start)) ++faster;
  }
  CHECK(fitting > 10);
  CHECK(faster > 5);
}

}  // namespace stagecraft::shifted_layers_test
