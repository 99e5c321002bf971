#pragma once

#include "sim/base/index.hpp"
#include "sim/model/layer_graph.hpp"

#include <vector>

namespace stagecraft {

/// The parts of a network that frameworks for language models place whole, each of consecutive layers in canonical
/// order.
struct NetworkUnits {
  std::vector<LayerId> embedding;
  std::vector<std::vector<LayerId>> blocks;
  std::vector<LayerId> head;  ///< what follows the last block, with the loss
};

/// The units of a network, by the names of its layers up to the first point: `embedding`, `block0`, `block1` and so on,
/// and `head` or `pooler`, as the networks that the program describes have them at every granularity.
/// **Requires** an acyclic graph. **Throws** InputError for a network with other layers, or in another order.
/// **Cost** O((layers + edges) log layers).
[[nodiscard]] NetworkUnits network_units(const LayerGraph& graph);

}  // namespace stagecraft
