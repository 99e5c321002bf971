#pragma once

#include "experiments/study/study.hpp"
#include "sim/io/yaml_node.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// Reads one key of a cell and its value from a study file, and sets the flat keys they stand for: a planner's entries
/// become `options.PLANNER.OPTION`, `nodes` becomes `platform.nodes.count`, `training: {…}` becomes `training.KEY`.
/// **Throws** InputError naming the place of a key that cells do not have, or of a value that the key cannot take.
void read_cell_key(const std::string& name, const YamlNode& node, Keys& into);

/// Reads the name of a key that tells cells apart, and returns the name that cells have it under.
/// **Throws** InputError naming the place of a name that is none.
[[nodiscard]] std::string read_cell_key_name(const YamlNode& node);

}  // namespace stagecraft
