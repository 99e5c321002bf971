#pragma once

#include "sim/model/layer_graph.hpp"

#include <vector>

namespace stagecraft {

/// A cycle of the graph, each layer feeding the next and the last the first; empty if there is none.
/// **Cost** O(layers + edges).
[[nodiscard]] std::vector<LayerId> find_cycle(const LayerGraph& graph);

/// The canonical order: topological, ties by file order. Ranges of layers refer to it.
/// **Requires** an acyclic graph. **Cost** O((layers + edges) log layers).
[[nodiscard]] std::vector<LayerId> canonical_order(const LayerGraph& graph);

/// The bytes that cross each cut of an order: every tensor that is produced before the cut and used after it. A tensor
/// counts once, at the size of its largest crossing edge. **Shape** order.size() - 1 entries; entry i is the cut after
/// order[i].
[[nodiscard]] std::vector<Bytes> cut_bytes(const LayerGraph& graph, const std::vector<LayerId>& order);

/// The incoming and outgoing edges of each layer. **Shape** one list of edge positions (in `graph.edges`) for each
/// layer.
struct Adjacency {
  IndexVector<LayerId, std::vector<std::size_t>> incoming;
  IndexVector<LayerId, std::vector<std::size_t>> outgoing;
};
[[nodiscard]] Adjacency adjacency(const LayerGraph& graph);

}  // namespace stagecraft
