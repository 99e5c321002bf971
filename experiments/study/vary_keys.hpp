#pragma once

#include "experiments/run/variation.hpp"
#include "experiments/study/study.hpp"
#include "sim/io/yaml_node.hpp"

#include <string>

namespace stagecraft {

/// Reads a key `vary.KEY` of a cell: the factor by which its model or platform differs from the file.
/// **Throws** InputError that names the place of an unknown KEY (`name`) or of a factor out of bounds.
void read_vary_key(const std::string& name, const YamlNode& node, Keys& into);

/// The same for `vary: {KEY: FACTOR, …}`.
void read_vary(const YamlNode& node, Keys& into);

/// The factor that the key with the whole name `vary.KEY` sets; null for any other key.
[[nodiscard]] double* vary_factor(const std::string& name, Variation& of);

}  // namespace stagecraft
