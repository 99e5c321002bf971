#pragma once

#include "sim/io/yaml_node.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/training.hpp"

#include <cstdint>

namespace stagecraft {

inline constexpr std::int64_t kMostCopies = 4096;  ///< of weights, that a plan may ask for

/// The key `stash` of a plan's `training`.
[[nodiscard]] StashConvention read_stash(const YamlNode& training);

/// The key `training` of a plan for `graph`. **Throws** InputError as `training_of`, at the key that it concerns.
[[nodiscard]] Training read_training(const YamlNode& node, const LayerGraph& graph);

}  // namespace stagecraft
