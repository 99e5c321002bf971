// Which of the cuts with the same slowest stage get memory actions, where the first one does not fit with any.
#include "planners/registry.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/savings/memory_policy.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/planners/saving_fixtures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft::tied_cuts_test {

using namespace stagecraft::testing;

namespace {

constexpr double kMilliseconds = 1e-3;
constexpr std::int64_t kMegabyte = 1'000'000;

/// A layer with times in milliseconds and memory in megabytes.
Layer layer_of(double forward, double backward, std::int64_t parameters, std::int64_t stash, std::int64_t workspace) {
  Layer layer;
  layer.forward = Seconds(forward * kMilliseconds);
  layer.backward = Seconds(backward * kMilliseconds);
  layer.parameters = Bytes(parameters * kMegabyte);
  layer.stash = Bytes(stash * kMegabyte);
  layer.workspace = Bytes(workspace * kMegabyte);
  return layer;
}

/// A chain without transfers.
LayerGraph free_chain(const std::vector<Layer>& layers) {
  LayerGraph graph = chain(std::vector<double>(layers.size(), 1.0));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Layer& layer = graph.layers[LayerId(i)];
    const std::string name = layer.name;
    layer = layers[i];
    layer.name = name;
  }
  for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(0);
  return graph;
}

/// A chain whose weights differ as much as its stashes.
LayerGraph uneven_chain(std::mt19937& random, std::size_t count) {
  const auto upto = [&](unsigned most) { return static_cast<std::int64_t>(random() % (most + 1)); };
  std::vector<Layer> layers;
  for (std::size_t i = 0; i < count; ++i) {
    layers.push_back(layer_of(1.0 + static_cast<double>(upto(5)), 2.0 + static_cast<double>(upto(10)), upto(4),
                              2 + upto(8), random() % 2 == 0 ? upto(4) : 0));
    if (random() % 3 == 0) layers.back().checkpoint = Bytes(layers.back().stash.value() * upto(2) / 4);
  }
  return free_chain(layers);
}

/// The plan with that option, if one fits.
std::optional<Plan> plan_with(const PlannerInfo& planner, const PlanRequest& request, const GivenOptions& options) {
  PlanRequest asked = request;
  asked.options = parse_options(planner, options);
  PlanResult result = plan_within_memory(planner, asked);
  auto* planned = std::get_if<Planned>(&result);
  return planned == nullptr ? std::nullopt : std::optional(std::move(planned->plan));
}

}  // namespace

TEST_CASE("memory policy: of the cuts that tie where all layers are recomputed, one that fits is found") {
  // With everything recomputed l6 alone, or l5 and l6, leave a slowest stage of 41 ms. Only the latter fits: stages 0
  // to 3 with 2, 2, 1 and 2 layers take 2 · 4 + 10 + 4 = 22, 5 · 4 + 6 = 26, 2 · 4 + 2 · 3 + 2 = 16 and 5 · 4 + 9 + 3 =
  // 32 MB, and 260 ms.
  const LayerGraph graph =
      free_chain({layer_of(2, 4, 1, 4, 0), layer_of(5, 5, 1, 10, 4), layer_of(6, 3, 4, 6, 0), layer_of(5, 11, 1, 5, 0),
                  layer_of(6, 8, 2, 3, 2), layer_of(6, 11, 3, 2, 0), layer_of(6, 6, 2, 7, 3)});
  const Platform platform = flat_platform(4, 1e9, Bytes(32 * kMegabyte));
  for (const char* name : {"uniform", "gpipe"}) {
    CAPTURE(name);
    const PlannerInfo& planner = find_planner(name);
    PlanRequest request = request_for(planner, graph, platform, planner.default_schedule, 6);
    for (const MemoryPolicy policy : {MemoryPolicy::Cheapest, MemoryPolicy::Recompute}) {
      request.memory = policy;
      const auto plan = plan_with(planner, request, {{"stages", "4"}, {"replicas", "1"}});
      REQUIRE(plan.has_value());
      CHECK(fits(graph, platform, *plan));
      CHECK((planner.name != "uniform" || iteration(graph, platform, *plan) <= Seconds(0.26 * (1 + 1e-9))));
    }
    const Platform tight = flat_platform(4, 1e9, Bytes(24 * kMegabyte));
    const PlanRequest small =
        request_for(planner, graph, tight, planner.default_schedule, 6, {{"stages", "4"}, {"replicas", "1"}});
    const PlanResult refused = plan_explained(planner, small);
    REQUIRE(std::holds_alternative<Infeasible>(refused));
    const std::optional<Bytes> least = std::get<Infeasible>(refused).smallest_memory;
    REQUIRE(least.has_value());
    const auto has_plan = [&](Bytes memory) {
      const Platform larger = flat_platform(4, 1e9, memory);
      return std::holds_alternative<Planned>(plan_within_memory(planner, on_platform(small, larger)));
    };
    CHECK(has_plan(*least));
    CHECK_FALSE(has_plan(*least - Bytes(std::int64_t{1} << 20)));
  }
}

TEST_CASE("memory policy: cheapest has a plan wherever recomputing all layers or stages has one, and a faster one") {
  std::mt19937 random(8);
  std::size_t tight = 0;
  std::size_t refused = 0;
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const LayerGraph graph = uneven_chain(random, 5 + random() % 6);
    const Platform platform =
        flat_platform(3 + random() % 2, 1e9, Bytes((16 + static_cast<std::int64_t>(random() % 30)) * kMegabyte));
    const PlannerInfo& planner = find_planner(random() % 3 == 0 ? "gpipe" : "uniform");
    const PlanRequest request = request_for(planner, graph, platform, planner.default_schedule, 6);
    GivenOptions shape;
    if (random() % 3 != 0) shape = {{"stages", "3"}, {"replicas", "1"}};
    const std::optional<Plan> cheapest = plan_with(planner, request, shape);
    refused += cheapest ? 0 : 1;
    for (const char* recompute : {"layer", "stage"}) {
      CAPTURE(recompute);
      if (planner.name == "gpipe" && recompute == std::string("layer")) continue;
      GivenOptions options = shape;
      options.emplace_back("recompute", recompute);
      const std::optional<Plan> all = plan_with(planner, request, options);
      if (!all) continue;
      CHECK(cheapest.has_value());
      if (!cheapest) continue;
      tight += std::ranges::any_of(cheapest->stages, [](const Stage& stage) { return !stage.memory.empty(); }) ? 1 : 0;
      CHECK(claimed_time(*cheapest) <= claimed_time(*all) * (1 + 1e-9));
      CHECK(iteration(graph, platform, *cheapest) <= iteration(graph, platform, *all) * (1 + 1e-9));
    }
  }
  CHECK(tight > 40);
  CHECK(refused > 40);
}

}  // namespace stagecraft::tied_cuts_test
