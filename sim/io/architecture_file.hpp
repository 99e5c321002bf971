#pragma once

#include "sim/workload/architecture.hpp"

#include <string>
#include <string_view>

namespace stagecraft {

/// The network a file of the schema `stagecraft/architecture/1` describes (docs/reference/formats/architecture.md).
/// `file_name` is used in messages only.
/// **Throws** InputError naming the place of the first defect.
[[nodiscard]] Architecture parse_architecture(std::string_view text, const std::string& file_name);

}  // namespace stagecraft
