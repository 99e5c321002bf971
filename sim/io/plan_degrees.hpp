#pragma once

#include "sim/io/yaml_node.hpp"
#include "sim/model/degrees.hpp"
#include "sim/model/detail.hpp"

#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// The largest `Degrees::imbalance`.
inline constexpr double kMostImbalance = 256.0;

/// `ring`, `all-gather` and `all-to-all`, in the order of the values.
[[nodiscard]] const std::vector<std::string>& context_attention_names();
[[nodiscard]] const std::string& to_string(ContextAttention attention);
/// **Requires** one of the names.
[[nodiscard]] ContextAttention context_attention_of(const std::string& name);

/// Why no group has such degrees, each of which is at most `kMostInGroup`; none if one can: `expert` divides the tensor
/// and context indices or is a multiple of them.
[[nodiscard]] std::optional<std::string> degrees_problem(const Degrees& degrees);

/// The same group, with the defaults where there is nothing that a value says: no sequence parallelism of a tensor
/// degree of 1, no attention of a context degree of 1, no imbalance of an expert degree of 1.
[[nodiscard]] Degrees reduced(Degrees degrees);

/// A value of `Degrees::imbalance`. **Throws** InputError for any other.
[[nodiscard]] double read_imbalance_factor(const YamlNode& node);

/// A capacity factor: how many times the mean of tokens each expert gets, which then is `Degrees::imbalance`; none for
/// the word `none`. **Throws** InputError for any other.
[[nodiscard]] std::optional<double> read_capacity_factor(const YamlNode& node);

/// The value of `groups` in a plan file, `reduced`. **Throws** InputError for any other than a plan file may have.
[[nodiscard]] Degrees read_degrees(const YamlNode& node);
/// The keys that differ from their defaults.
[[nodiscard]] Detail::Record degrees_record(const Degrees& degrees);

}  // namespace stagecraft
