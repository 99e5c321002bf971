// Planners that recompute runs of layers as one segment, against an enumeration of all cuts and all segments.
#include "planners/registry.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/savings/memory_policy.hpp"
#include "tests/planners/saving_cases.hpp"
#include "tests/planners/saving_fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft::segments_test {

using namespace stagecraft::testing;

namespace {

/// Layers without weights that send nothing, on devices without hosts.
LayerGraph random_chain(std::mt19937_64& random, std::size_t layers) {
  LayerGraph graph = chain(std::vector<double>(layers, 1.0));
  for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(0);
  for (Layer& layer : graph.layers) {
    layer.forward = Seconds(static_cast<double>(1 + random() % 4));
    layer.backward = layer.forward * 2.0;
    layer.parameters = layer.output = Bytes(0);
    layer.stash = Bytes(static_cast<std::int64_t>(2 + random() % 12));
    layer.checkpoint = Bytes(static_cast<std::int64_t>(1 + random() % 3));
    layer.checkpoint = std::min(layer.checkpoint, layer.stash);
  }
  return graph;
}

/// The layers [begin, end) on stage `s` of a pipeline that flushes.
SavingStage stage_of(const LayerGraph& graph, Bytes memory, std::size_t stages, std::size_t s, std::size_t begin,
                     std::size_t end) {
  SavingStage stage;
  for (std::size_t i = begin; i < end; ++i) {
    const Layer& layer = graph.layers[LayerId(i)];
    stage.units.push_back({layer.forward, layer.backward, layer.stash, layer.checkpoint});
  }
  stage.budget.in_flight = stage.budget.resident = static_cast<std::int64_t>(stages - s);
  stage.budget.capacity = memory;
  return with_segments(std::move(stage));
}

/// The least time of the slowest stage over all cuts and all that stages can recompute.
std::optional<double> least_period(const LayerGraph& graph, Bytes memory, std::size_t stages) {
  const std::size_t layers = graph.layers.size();
  std::vector<std::optional<double>> best(layers + 1);  // of the stages so far, by the layers that they have
  best[0] = 0.0;
  for (std::size_t s = 0; s < stages; ++s) {
    std::vector<std::optional<double>> next(layers + 1);
    for (std::size_t begin = 0; begin < layers; ++begin) {
      for (std::size_t end = begin + 1; best[begin] && end <= layers; ++end) {
        const std::optional<double> own = enumerate_savings(stage_of(graph, memory, stages, s, begin, end)).time;
        if (own && (!next[end] || std::max(*own, *best[begin]) < *next[end])) {
          next[end] = std::max(*own, *best[begin]);
        }
      }
    }
    best = std::move(next);
  }
  return best[layers];
}

double slowest_stage(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  Seconds slowest;
  for (const Stage& stage : plan.stages) slowest = std::max(slowest, stage_time(graph, platform, stage).total());
  return slowest.value();
}

}  // namespace

TEST_CASE(
    "segments: with exact savings dawnpiper is as fast as the best of all cuts and segments, and refuses no more") {
  std::mt19937_64 random(21);
  int fitting = 0;
  int with_several = 0;
  for (int i = 0; i < random_cases(200); ++i) {
    CAPTURE(i);
    const std::size_t stages = 2 + random() % 3;
    const LayerGraph graph = random_chain(random, std::max<std::size_t>(stages, 3 + random() % 5));
    const Bytes memory(static_cast<std::int64_t>(12 + random() % 40));
    const Platform platform = flat_platform(stages, 1e6, memory);
    const std::optional<double> least = least_period(graph, memory, stages);
    for (const auto& [name, option, value] : std::vector<std::array<std::string, 3>>{
             {"dawnpiper", "leaf", "exact"}, {"dawnpiper", "leaf", "greedy"}, {"vpipe", "sr", "exact"}}) {
      CAPTURE(name);
      CAPTURE(value);
      GivenOptions options = {{option, value}, {"stages", std::to_string(stages)}, {"replicas", "1"}};
      if (name == "dawnpiper") options.emplace_back("margin", "50");
      if (name == "vpipe") options.emplace_back("granularity", "layers");
      const PlannerInfo& planner = find_planner(name);
      const PlanResult result = plan_within_memory(planner, request_for(planner, graph, platform, "1f1b", 8, options));
      const auto* planned = std::get_if<Planned>(&result);
      REQUIRE((planned != nullptr) == least.has_value());
      if (planned == nullptr) continue;
      const double slowest = slowest_stage(graph, platform, planned->plan);
      CHECK(fits(graph, platform, planned->plan));
      CHECK(slowest >= *least * (1 - 1e-12));
      if (name == "vpipe" || value == "greedy") continue;
      CHECK(slowest == doctest::Approx(*least).epsilon(1e-12));
      ++fitting;
      for (const Stage& stage : planned->plan.stages) {
        for (const Recompute& segment : actions_of<Recompute>(stage)) with_several += segment.layers.size() > 1 ? 1 : 0;
      }
    }
  }
  CHECK(fitting > 0);
  CHECK(with_several > 0);
}

}  // namespace stagecraft::segments_test
