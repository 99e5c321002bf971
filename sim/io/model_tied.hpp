#pragma once

#include "sim/io/model_tensors.hpp"
#include "sim/io/yaml_node.hpp"
#include "sim/model/layer_graph.hpp"

namespace stagecraft {

/// Reads the parameters that layers have in common (docs/reference/formats/model.md). **Requires** the layers.
/// **Throws** InputError with the place of the first defect.
void read_tied(const YamlNode& node, const LayersByName& by_name, LayerGraph& graph);

}  // namespace stagecraft
