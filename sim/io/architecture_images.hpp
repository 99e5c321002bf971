#pragma once

#include "sim/io/yaml_node.hpp"
#include "sim/workload/architecture.hpp"

#include <string>

namespace stagecraft {

// The networks for images of architecture files, one function for each family; `root` is the whole file.
// Each throws InputError naming the place of the first defect.

[[nodiscard]] Architecture read_alexnet(const YamlNode& root, const std::string& name);
[[nodiscard]] Architecture read_amoebanet(const YamlNode& root, const std::string& name);
[[nodiscard]] Architecture read_densenet(const YamlNode& root, const std::string& name);
[[nodiscard]] Architecture read_inception(const YamlNode& root, const std::string& name);
[[nodiscard]] Architecture read_resnet(const YamlNode& root, const std::string& name);
[[nodiscard]] Architecture read_vgg(const YamlNode& root, const std::string& name);
[[nodiscard]] Architecture read_vit(const YamlNode& root, const std::string& name);

}  // namespace stagecraft
