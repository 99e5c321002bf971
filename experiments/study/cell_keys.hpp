#pragma once

#include "experiments/study/study.hpp"
#include "sim/io/yaml_node.hpp"

#include <string>
#include <string_view>

namespace stagecraft {

/// Reads one key of a cell and its value from a study file, and sets the flat keys that it means: a planner's entries
/// become `PLANNER.KEY`, `nodes` becomes `platform.nodes.count`, `training: {…}` becomes `training.KEY`.
/// **Throws** InputError that names the place of an unknown key, or of a value that the key cannot have.
void read_cell_key(const std::string& name, const YamlNode& node, Keys& into);

/// Reads the name of a key of cells, as a table of the report uses it, and returns the name under which cells keep it.
/// **Throws** InputError that names the place of an unknown name.
[[nodiscard]] std::string read_cell_key_name(const YamlNode& node);

/// Where a key belongs that stands at the top of a study file; empty for a name that no key of cells has.
[[nodiscard]] std::string suggest_place(const std::string& name);

/// Whether `read_cell_key` knows a key of this name, or how it is written now. Its value, and what a path leads to, may
/// be wrong.
[[nodiscard]] bool is_cell_key(std::string_view name);

}  // namespace stagecraft
