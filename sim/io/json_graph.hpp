#pragma once

#include "sim/base/quantity.hpp"
#include "sim/io/yaml_node.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace stagecraft {

/// An edge between nodes, by their positions.
struct JsonEdge {
  std::size_t from = 0;
  std::size_t to = 0;
  YamlNode value;
};

/// The graph of a file for the planners of Piper and dnn-partitioning: `nodes` with an `id` and, usually, a `name`, and
/// `edges` with `sourceId` and `destId`. Both have further keys.
struct JsonGraph {
  std::vector<YamlNode> nodes;     ///< in the file's order
  std::vector<std::string> names;  ///< of the nodes, all different: `name.id` if names are alike, `nodeN` without any
  std::vector<JsonEdge> edges;
};

/// **Throws** InputError, at its place, for a node or an edge that comes twice, an edge to no node or from a node to
/// itself, and a file without nodes. That the edges form no cycle is not checked.
[[nodiscard]] JsonGraph read_json_graph(const YamlNode& root);

/// A bare number of `unit`, which is one of `ns`, `us`, `ms` and `s`: the double nearest to the decimal in seconds.
[[nodiscard]] Seconds read_time_in(const YamlNode& node, const std::string& unit);

/// A bare number of bytes, rounded up. **Throws** InputError for more than 2^53.
[[nodiscard]] Bytes read_bytes_up(const YamlNode& node);

}  // namespace stagecraft
