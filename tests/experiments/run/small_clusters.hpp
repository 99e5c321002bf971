#pragma once

#include "experiments/run/planning.hpp"
#include "experiments/run/simulation.hpp"
#include "sim/base/error.hpp"
#include "tests/model/topologies.hpp"
#include "tests/planners/fixtures.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace stagecraft::testing {

/// A chain of four or five layers on 2 x 2, 2 x 3 or 3 x 2 devices, whose nodes have slow cards.
inline Inputs small_cluster(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto number = [&](std::uint32_t least, std::uint32_t most) { return least + random() % (most - least + 1); };
  std::vector<double> times(number(4, 5));
  for (double& time : times) time = number(1, 9);
  LayerGraph graph = chain(times);
  graph.microbatch_size = 12;
  for (Layer& layer : graph.layers) {
    layer.parameters = Bytes(number(1, 200));
    layer.output = layer.stash = layer.checkpoint = Bytes(number(1, 60));
  }
  for (LayerEdge& edge : graph.edges) edge.bytes = graph.layers[edge.from].output;
  PlatformSpec spec;
  spec.name = "cluster";
  spec.device_kinds.push_back({"A", Bytes(1'000'000), 1.0, Bytes(0), std::nullopt});
  const std::uint32_t nodes = seed % 3 == 2 ? 3 : 2;
  const std::uint32_t devices = seed % 3 == 1 ? 3 : 2;
  spec.form = test::nodes_of(nodes, devices, Interconnect{SwitchedNode{}, test::link_of(60)}, SwitchedNetwork{},
                             NicSpec{test::link_of(number(3, 20)), false});
  return {{{graph}}, build_platform(spec), "", ""};
}

/// Two nodes of two devices each, of which those of the second node are slower or faster, with one layer to three.
inline Inputs unequal_cluster(std::uint32_t seed) {
  Inputs inputs = small_cluster(3 * seed);
  std::mt19937 random(seed);
  LayerGraph& graph = inputs.model.profiles.front();
  graph.layers.resize(1 + random() % 3);
  graph.edges.resize(graph.layers.size() - 1);
  PlatformSpec spec = inputs.platform.spec;
  const double speed = seed % 2 == 0 ? 0.4 : 1.7;
  spec.device_kinds.push_back({"B", Bytes(1'000'000), speed, Bytes(0), std::nullopt});
  auto& form = std::get<NodeForm>(spec.form);
  NodeKind other = form.node_kinds[NodeKindId(0)];
  other.name = "other";
  other.device_kind = DeviceKindId(1);
  form.node_kinds.push_back(other);
  form.groups = {{NodeKindId(0), 1}, {NodeKindId(1), 1}};
  inputs.platform = build_platform(std::move(spec));
  return inputs;
}

/// The planner's plan for 1f1b and its replayed time of an iteration; none if it refuses.
struct PlanAndTime {
  LayerGraph graph;
  Planned planned;
  Seconds time;
};
inline std::optional<PlanAndTime> plan_and_replay(const PlannerInfo& planner, const Inputs& inputs,
                                                  const GivenOptions& options) {
  PlanningChoices choices;
  choices.schedule = ScheduleChoice{"1f1b", {}};
  choices.microbatches = 6;
  choices.memory = MemoryPolicy::Keep;
  choices.options = options;
  try {
    const Planning planning = make_plan(planner, inputs, choices, [](const std::string& /*text*/) {});
    if (planning.planned() == nullptr) return std::nullopt;
    const Simulation run = simulate_program(planning.graph, inputs.platform, *planning.program, {}, Settings());
    return PlanAndTime{planning.graph, *planning.planned(), run.report.iterations.back()};
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// The least time of all plans.
inline const GivenOptions& for_the_optimum() {
  static const GivenOptions kOptions{
      {"objective", "replayed"}, {"devices", "any"}, {"replication", "either"}, {"max_candidates", "1000000"}};
  return kOptions;
}

}  // namespace stagecraft::testing
