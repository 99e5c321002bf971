#pragma once

#include "sim/io/yaml_node.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace stagecraft {

/// A node as parsed. An alias shares the node it refers to, so the document is an acyclic graph.
struct RawNode {
  YamlKind kind = YamlKind::Nothing;
  bool quoted = false;
  bool complete = false;        ///< false while its children are still being read
  int line = 0;                 ///< from 1
  int column = 0;               ///< from 1
  int alias_depth = 0;          ///< the most aliases on a path from this node down
  std::uint64_t size = 1;       ///< nodes below and including it, aliases expanded
  std::uint64_t text_size = 0;  ///< bytes of their texts, keys included
  std::string text;
  std::vector<std::size_t> children;  ///< a map's are key, value, key, value …
};

/// A JSON text is read without places, by another parser. They are found when the first one is asked for.
struct YamlDocument {
  std::string file;
  std::vector<RawNode> nodes;
  std::size_t root = 0;
  std::string text = {};
  bool has_places = true;
  mutable std::shared_ptr<const YamlDocument> placed = {};  ///< the same with places, if they have been asked for

  /// The node with its place; line 0 if it cannot be found.
  [[nodiscard]] const RawNode& placed_node(std::size_t index) const;
};

}  // namespace stagecraft
