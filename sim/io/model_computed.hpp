#pragma once

#include "sim/io/yaml_node.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/workload/device.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft {

inline constexpr std::int64_t kMostProfiledSamples = 1'000'000'000;  ///< in a microbatch of a model file

/// The word of `kPrecisions` that `node` holds.
[[nodiscard]] std::string read_precision(const YamlNode& node);

/// The word of `granularity_of` that `node` holds, and the tokens of a sample.
[[nodiscard]] std::string read_granularity(const YamlNode& node);
[[nodiscard]] std::int64_t read_sequence(const YamlNode& node);

/// A model file without figures, `root`: those that its recipe, the key `computed`, gives, for the catalogue's devices
/// and `own` ones. `header` is what the file says besides. Both functions **throw** InputError for a recipe that the
/// catalogues cannot follow.
[[nodiscard]] Model computed_alone(const YamlNode& root, LayerGraph header, const std::vector<DeviceDescription>& own);

/// A model file with a recipe and figures, `given`. If these are not those of its recipe, the file was edited, or comes
/// from another version of the cost model; what the recipe gives for other sizes would not belong to it.
[[nodiscard]] Model computed_as_given(const YamlNode& root, LayerGraph given);

}  // namespace stagecraft
