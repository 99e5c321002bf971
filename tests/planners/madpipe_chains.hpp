#pragma once

#include "planners/planner.hpp"
#include "planners/shared/costs/chain.hpp"
#include "tests/planners/fixtures.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::testing {

/// A chain as MadPipe describes it: seconds, bytes, and bytes per second.
struct MadPipeInstance {
  std::size_t devices = 1;
  std::int64_t memory = 0;
  double beta = 1.0;
  std::vector<double> forward;               // uF
  std::vector<double> backward;              // uB
  std::vector<std::int64_t> parameters;      // W
  std::vector<std::int64_t> outputs;         // a, which begins with the input of the network
  std::vector<std::int64_t> workspace = {};  // none: 0

  [[nodiscard]] LayerGraph graph() const {
    LayerGraph graph;
    graph.name = "madpipe";
    graph.device_kind = "A";
    for (std::size_t i = 0; i < forward.size(); ++i) {
      Layer layer;
      layer.name = "l" + std::to_string(i + 1);
      layer.forward = Seconds(forward[i]);
      layer.backward = Seconds(backward[i]);
      layer.backward_weight = Seconds(backward[i] / 2);
      layer.parameters = Bytes(parameters[i]);
      layer.output = Bytes(outputs[i + 1]);
      layer.stash = layer.checkpoint = Bytes(outputs[i]);
      if (!workspace.empty()) layer.workspace = Bytes(workspace[i]);
      graph.layers.push_back(layer);
      if (i > 0) graph.edges.push_back({LayerId(i - 1), LayerId(i), Bytes(outputs[i])});
    }
    return graph;
  }
  [[nodiscard]] Platform platform() const { return flat_platform(devices, beta, Bytes(memory)); }
  /// With the memory of the published formula: 3 W, an input for each microbatch in flight, two buffers at each cut.
  [[nodiscard]] Chain chain() const {
    const LayerGraph layers = graph();
    const Platform equal_devices = platform();
    return Chain({layers, equal_devices, {}, 1, {1, 0, 2}, Options({})}, 2);
  }
};

inline MadPipeInstance madpipe_m1(std::int64_t memory) {
  return {3, memory, 2, {2, 2, 3, 1}, {4, 4, 6, 2}, {1, 1, 2, 4}, {4, 4, 2, 2, 1}};
}
inline MadPipeInstance madpipe_m2() {
  return {2, 64, 2, {1, 1, 2, 1, 3}, {5, 1, 2, 3, 5}, {3, 1, 3, 1, 0}, {6, 4, 2, 6, 4, 6}};
}
inline MadPipeInstance madpipe_m4() { return {3, 50, 3, {4, 1, 4, 2}, {5, 3, 6, 2}, {0, 3, 2, 2}, {6, 3, 3, 6, 9}}; }

}  // namespace stagecraft::testing
