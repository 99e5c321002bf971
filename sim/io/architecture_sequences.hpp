#pragma once

#include "sim/io/yaml_node.hpp"
#include "sim/workload/architecture.hpp"

#include <string>

namespace stagecraft {

// The networks for sequences of architecture files, one function for each family; `root` is the whole file.
// Each throws InputError naming the place of the first defect.

[[nodiscard]] Architecture read_bert(const YamlNode& root, const std::string& name);
[[nodiscard]] Architecture read_gnmt(const YamlNode& root, const std::string& name);
[[nodiscard]] Architecture read_gpt(const YamlNode& root, const std::string& name);
[[nodiscard]] Architecture read_t5(const YamlNode& root, const std::string& name);
[[nodiscard]] Architecture read_transformer(const YamlNode& root, const std::string& name);
[[nodiscard]] Architecture read_xlnet(const YamlNode& root, const std::string& name);

}  // namespace stagecraft
