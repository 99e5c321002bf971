#pragma once

#include "sim/base/error.hpp"
#include "sim/model/layer_graph.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// A node of a graph of PipeDream's profiler or optimizer.
struct PipedreamNode {
  Layer layer;  ///< of the node's name, times and sizes
  std::string description;
  InputPlace place;
  /// Whether it is no layer: a source whose description starts with `Input`, or then a sink whose description starts
  /// with `__getitem__`.
  bool dropped = false;
  std::optional<std::int64_t> stage;  ///< `stage_id`, which the optimizer writes
  InputPlace stage_place;             ///< of `stage_id`, if there is one
};

struct PipedreamEdge {
  std::size_t from = 0;  ///< position of the node
  std::size_t to = 0;
  InputPlace place;
};

/// A file in the graph format of PipeDream's profiler.
struct PipedreamGraph {
  std::string file_name;
  std::vector<PipedreamNode> nodes;  ///< in the file's order
  std::vector<PipedreamEdge> edges;
};

/// Reads such a file: times in milliseconds and activations in bytes of the whole minibatch, parameters in bytes. What
/// follows a node's `stage_id` is ignored, as PipeDream's reader does.
/// **Throws** InputError naming the place of the first defect. That the edges form no cycle is not checked.
/// **Source** Narayanan et al. (2019), PipeDream, `graph/graph.py` and `optimizer_graph_hierarchical.py`; blank lines
/// and edges indented by blanks are accepted as DAPPLE does.
[[nodiscard]] PipedreamGraph parse_pipedream_graph(std::string_view text, const std::string& file_name);

/// Whether a node has a `stage_id`.
[[nodiscard]] bool has_stages(const PipedreamGraph& graph);

}  // namespace stagecraft
