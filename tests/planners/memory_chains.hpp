#pragma once

#include "planners/shared/costs/chain.hpp"
#include "sim/schedule/periodic.hpp"
#include "tests/planners/fixtures.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace stagecraft::testing {

/// A chain, its platform and what training keeps: the small problems of planners that heed memory. One unit of time is
/// a second, one of memory a byte.
struct MemoryProblem {
  LayerGraph graph;
  Platform platform;
  Training training{.gradient_copies = 1, .optimizer_copies = 0, .boundary_buffers = 2};

  [[nodiscard]] PlanRequest request() const {
    return {.graph = graph,
            .platform = platform,
            .schedule = {"1f1b-star", {}},
            .microbatches = 64,
            .training = training,
            .options = Options({{"cut", std::string("best")}})};
  }
  [[nodiscard]] Chain chain() const { return {request(), kPeriodicWeightVersions}; }
  [[nodiscard]] MemoryProblem with_memory(std::int64_t memory) const {
    MemoryProblem other = *this;
    for (DeviceKind& kind : other.platform.spec.device_kinds) kind.memory = Bytes(memory);
    return other;
  }
};

/// The buffers on either side of a cut of a chain, where only the tensor of the layer before it crosses.
inline Bytes buffers_at(const Chain& chain, std::size_t cut) {
  if (cut == 0 || cut == chain.size()) return Bytes(0);
  return chain.buffers(chain.crossings().uses_of(cut - 1).at(0).bytes);
}

/// The memory of a stage of a chain.
inline Bytes stage_memory(const Chain& chain, std::size_t begin, std::size_t end, std::int64_t in_flight) {
  return chain.memory(begin, end, in_flight, buffers_at(chain, begin) + buffers_at(chain, end));
}

/// The numbers of one layer; the last one, `output`, is the size of the tensor that it passes on.
struct LayerNumbers {
  double forward = 0.0;
  double backward = 0.0;
  std::int64_t parameters = 0;
  std::int64_t output = 0;
};

inline MemoryProblem memory_problem(std::int64_t input, const std::vector<LayerNumbers>& layers, std::size_t devices,
                                    std::int64_t memory, double bandwidth) {
  LayerGraph graph;
  graph.name = "chain";
  graph.device_kind = "A";
  graph.input = Bytes(input);
  Bytes before(input);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Layer layer;
    layer.name = "l" + std::to_string(i);
    layer.forward = Seconds(layers[i].forward);
    layer.backward = Seconds(layers[i].backward);
    layer.backward_weight = layer.backward / 2.0;
    layer.parameters = Bytes(layers[i].parameters);
    layer.output = Bytes(layers[i].output);
    layer.stash = layer.checkpoint = before;
    before = layer.output;
    graph.layers.push_back(layer);
    if (i > 0) graph.edges.push_back({LayerId(i - 1), LayerId(i), graph.layers[LayerId(i - 1)].output});
  }
  return {.graph = graph, .platform = flat_platform(devices, bandwidth, Bytes(memory))};
}

/// The specification's M1, M2 and M4.
inline MemoryProblem problem_m1(std::int64_t memory) {
  return memory_problem(4, {{2, 4, 1, 4}, {2, 4, 1, 2}, {3, 6, 2, 2}, {1, 2, 4, 1}}, 3, memory, 2);
}
inline MemoryProblem problem_m2() {
  return memory_problem(6, {{1, 5, 3, 4}, {1, 1, 1, 2}, {2, 2, 3, 6}, {1, 3, 1, 4}, {3, 5, 0, 6}}, 2, 64, 2);
}
inline MemoryProblem problem_m4() {
  return memory_problem(6, {{4, 5, 0, 3}, {1, 3, 3, 3}, {4, 6, 2, 6}, {2, 2, 2, 9}}, 3, 50, 3);
}

/// 3 to 7 layers on 1 to 4 devices: layers of whole seconds, zero now and then, cuts of half seconds, memory between
/// hopeless and ample, and in every third problem workspaces and optimizer state.
inline MemoryProblem random_problem(unsigned seed) {
  std::mt19937 random(seed);
  const auto upto = [&](unsigned most) { return static_cast<std::int64_t>(random() % (most + 1)); };
  std::vector<LayerNumbers> layers(3 + random() % 5);
  for (LayerNumbers& layer : layers) {
    layer = {static_cast<double>(upto(5)), static_cast<double>(upto(7)), upto(4), upto(7)};
  }
  const std::size_t devices = 1 + random() % 4;
  const std::int64_t memory = 12 + upto(68);
  MemoryProblem problem = memory_problem(upto(7), layers, devices, memory, static_cast<double>(1U << (random() % 3)));
  if (seed % 3 == 0) {
    problem.training.optimizer_copies = upto(2);
    for (Layer& layer : problem.graph.layers) layer.workspace = Bytes(upto(6));
  }
  return problem;
}

}  // namespace stagecraft::testing
