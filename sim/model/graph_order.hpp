#pragma once

#include "sim/model/layer_graph.hpp"

#include <optional>
#include <vector>

namespace stagecraft {

/// A cycle of the graph, each layer feeding the next and the last the first; empty if there is none.
/// **Cost** O(layers + edges).
[[nodiscard]] std::vector<LayerId> find_cycle(const LayerGraph& graph);

/// The canonical order: topological, ties by file order. Ranges of layers refer to it.
/// **Requires** an acyclic graph. **Cost** O((layers + edges) log layers).
[[nodiscard]] std::vector<LayerId> canonical_order(const LayerGraph& graph);

/// Bytes that cross each cut of an order: every tensor produced before and used after it, each once, at the largest of
/// its crossing edges. **Shape** order.size() - 1 entries; entry i is the cut after order[i].
[[nodiscard]] std::vector<Bytes> cut_bytes(const LayerGraph& graph, const std::vector<LayerId>& order);

/// What each layer feeds and is fed by. **Shape** one list of edge positions (in `graph.edges`) for each layer.
struct Adjacency {
  IndexVector<LayerId, std::vector<std::size_t>> incoming;
  IndexVector<LayerId, std::vector<std::size_t>> outgoing;
};
[[nodiscard]] Adjacency adjacency(const LayerGraph& graph);

}  // namespace stagecraft
