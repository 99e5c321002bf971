#pragma once

#include "sim/io/yaml_node.hpp"
#include "sim/model/layer_graph.hpp"

#include <string>
#include <unordered_map>
#include <vector>

namespace stagecraft {

using LayersByName = std::unordered_map<std::string, LayerId>;

/// The layer that `node` names. **Throws** InputError for an unknown name, with the nearest known one.
[[nodiscard]] LayerId find_layer(const YamlNode& node, const LayersByName& by_name, const LayerGraph& graph);

/// The layers named in a list, each once. **Throws** InputError as `find_layer`, and for a layer that is named twice.
[[nodiscard]] std::vector<LayerId> read_layer_list(const YamlNode& node, const LayersByName& by_name,
                                                   const LayerGraph& graph);

/// Reads the tensors of a profile (docs/reference/formats/model.md).
/// **Requires** the layers with their stashes, and the edges. **Throws** InputError with the place of the first defect.
void read_tensors(const YamlNode& node, const LayersByName& by_name, LayerGraph& graph);

}  // namespace stagecraft
