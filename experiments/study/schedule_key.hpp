#pragma once

#include "experiments/study/study.hpp"
#include "sim/io/yaml_node.hpp"

namespace stagecraft {

/// Reads `schedule: NAME`, `NAME,PARAMETER=VALUE,…` or `{name: NAME, PARAMETER: VALUE, …}`. The key's value is the text
/// of the command line, with the parameters in the order of the schedule's table, so that equal schedules are equal
/// texts.
void read_schedule(const YamlNode& node, Keys& into);

}  // namespace stagecraft
