#pragma once

#include "sim/io/yaml_node.hpp"
#include "sim/model/computed_choice.hpp"
#include "sim/model/detail.hpp"

namespace stagecraft {

/// The key `computed` of a plan (docs/reference/formats/plan.md).
/// **Throws** InputError for a network or a device that the catalogues lack, and for a network without a device.
[[nodiscard]] ComputedChoice read_computed_choice(const YamlNode& node);

/// Its keys and values, as the reader takes them.
[[nodiscard]] Detail::Record computed_choice_record(const ComputedChoice& choice);

}  // namespace stagecraft
