#pragma once

#include "planners/planner.hpp"
#include "planners/registry.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/shared_tensors.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace stagecraft::testing {

/// `count` devices, each with a host of its own at `bandwidth` in each direction.
inline Platform swapping_platform(std::size_t count, Bytes memory, double bandwidth,
                                  Bytes host_memory = Bytes(std::int64_t{1} << 40)) {
  PlatformSpec spec = flat_platform(count, 1e6, memory).spec;
  for (ExplicitDevice& device : std::get<ExplicitForm>(spec.form).devices) {
    device.host = HostSpec{host_memory, LinkSpec{BytesPerSecond(bandwidth), Seconds(0)}, 1};
  }
  return build_platform(spec);
}

/// A chain whose layers differ in everything that the savings of a stage depend on.
inline LayerGraph varied_chain(unsigned seed, std::size_t layers) {
  std::mt19937 random(seed);
  const auto upto = [&](unsigned most) { return static_cast<std::int64_t>(random() % (most + 1)); };
  std::vector<double> times(layers);
  for (double& time : times) time = static_cast<double>(1 + upto(4));
  LayerGraph graph = chain(times);
  for (Layer& layer : graph.layers) {
    layer.parameters = Bytes(upto(20));
    layer.stash = Bytes(20 + upto(80));
    layer.checkpoint = Bytes(upto(20));
    layer.workspace = Bytes(random() % 2 == 0 ? upto(40) : 0);
    layer.output = Bytes(10 + upto(10));
  }
  for (LayerEdge& edge : graph.edges) edge.bytes = graph.layers[edge.from].output;
  return graph;
}

/// The same with edges that skip layers, and with tensors that several layers read or keep.
inline LayerGraph varied_graph(unsigned seed, std::size_t layers) {
  LayerGraph graph = varied_chain(seed, layers);
  std::mt19937 random(seed + 1000);
  for (std::size_t i = 0; i + 3 < layers; i += 1 + random() % 3) {
    const std::size_t to = i + 2 + random() % std::min<std::size_t>(3, layers - i - 2);
    graph.edges.push_back({LayerId(i), LayerId(to), graph.layers[LayerId(i)].output});
  }
  if (seed % 2 == 0) share_tensors(graph, seed, 20);
  return graph;
}

/// A chain whose stashes are many times its checkpoints.
inline LayerGraph stashing_chain(std::mt19937& random, std::size_t layers) {
  std::vector<double> times;
  for (std::size_t i = 0; i < layers; ++i) times.push_back(1.0 + static_cast<double>(random() % 8));
  LayerGraph graph = chain(times);
  for (Layer& layer : graph.layers) {
    layer.stash = Bytes(100 + static_cast<std::int64_t>(random() % 400));
    layer.checkpoint = Bytes(10 + static_cast<std::int64_t>(random() % 40));
    layer.workspace = Bytes(static_cast<std::int64_t>(random() % 30));
  }
  return graph;
}

/// A request with options given as text.
inline PlanRequest request_for(const PlannerInfo& planner, const LayerGraph& graph, const Platform& platform,
                               const std::string& schedule, std::int64_t microbatches,
                               const GivenOptions& options = {}) {
  PlanRequest request{graph, platform, {schedule, {}}, microbatches, {}, parse_options(planner, options)};
  request.memory = MemoryPolicy::Cheapest;
  return request;
}

/// The largest memory that some device needs if the plan of a platform with ample memory is run on it.
inline std::int64_t largest_need(const PlannerInfo& planner, const LayerGraph& graph, std::size_t devices,
                                 const std::string& schedule) {
  const PlanResult ample = planner.plan(request_for(planner, graph, flat_platform(devices, 1e6), schedule, 64));
  Bytes largest;
  for (const auto& [device, peak] : std::get<Planned>(ample).plan.predicted.peak_memory) {
    largest = std::max(largest, peak);
  }
  return largest.value();
}

/// The swaps of all stages.
inline std::size_t count_swaps(const Plan& plan) {
  std::size_t count = 0;
  for (const Stage& stage : plan.stages) count += actions_of<Swap>(stage).size();
  return count;
}

/// Whether no device needs more than it has.
inline bool fits(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  const ScheduleProgram program = require_schedule(graph, platform, plan);
  return memory_needed(platform, ledger_peaks(graph, platform, program)) == Bytes(0);
}

/// The evaluated time of an iteration.
inline Seconds iteration(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  return evaluate_plan(graph, platform, plan).iterations.back();
}

}  // namespace stagecraft::testing
