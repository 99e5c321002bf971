#pragma once

#include "sim/io/yaml_node.hpp"
#include "sim/workload/architecture.hpp"

#include <string>

namespace stagecraft {

// The decoders of architecture files, one function for each family; `root` is the whole file.
// Each throws InputError naming the place of the first defect.

[[nodiscard]] Architecture read_bloom(const YamlNode& root, const std::string& name);
[[nodiscard]] Architecture read_deepseek(const YamlNode& root, const std::string& name);
[[nodiscard]] Architecture read_falcon(const YamlNode& root, const std::string& name);
[[nodiscard]] Architecture read_llama(const YamlNode& root, const std::string& name);
[[nodiscard]] Architecture read_mistral(const YamlNode& root, const std::string& name);
[[nodiscard]] Architecture read_mixtral(const YamlNode& root, const std::string& name);
[[nodiscard]] Architecture read_neox(const YamlNode& root, const std::string& name);
[[nodiscard]] Architecture read_opt(const YamlNode& root, const std::string& name);
[[nodiscard]] Architecture read_qwen2(const YamlNode& root, const std::string& name);
[[nodiscard]] Architecture read_qwen3(const YamlNode& root, const std::string& name);

}  // namespace stagecraft
