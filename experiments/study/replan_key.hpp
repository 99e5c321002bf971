#pragma once

#include "experiments/study/study.hpp"
#include "sim/io/yaml_node.hpp"

namespace stagecraft {

/// Reads the key `replan` of a cell, `NAME,KEY=VALUE,…` or `{name: NAME, KEY: VALUE, …}`, and keeps the first form.
/// **Throws** InputError that names the place of the key.
void read_replan(const YamlNode& node, Keys& into);

}  // namespace stagecraft
