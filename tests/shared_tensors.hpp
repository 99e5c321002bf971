#pragma once

#include "sim/model/layer_graph.hpp"

#include <cstdint>
#include <random>

namespace stagecraft::testing {

/// Gives some layers a tensor of at most `most` bytes that their consumers read, and that some of these layers keep
/// beside what they keep already. Does not depend on other random numbers of the test.
inline void share_tensors(LayerGraph& graph, unsigned seed, std::int64_t most) {
  std::mt19937 random(seed * 7 + 1);
  for (const LayerId from : indices(graph.layers)) {
    if (random() % 3 == 0) continue;
    const auto number = static_cast<std::uint32_t>(graph.tensors.size());
    const Bytes bytes(1 + static_cast<std::int64_t>(random()) % most);
    graph.tensors.push_back({from, bytes});
    const auto keep = [&](LayerId id) {
      if (random() % 4 == 0) return;
      graph.layers[id].keeps.push_back(number);
      graph.layers[id].stash += bytes;
    };
    keep(from);
    for (const LayerEdge& edge : graph.edges) {
      if (edge.from != from) continue;
      graph.layers[edge.to].reads.push_back(number);
      keep(edge.to);
    }
  }
}

}  // namespace stagecraft::testing
