#pragma once

#include "sim/workload/architecture.hpp"

#include <string>
#include <string_view>

namespace stagecraft {

/// The network a file of the schema `stagecraft/architecture/1` describes (docs/reference/formats/architecture.md).
/// **Throws** InputError naming the place of the first defect.
[[nodiscard]] Architecture read_architecture_file(const std::string& path);

/// The same of a text; `file_name` is used in messages only.
[[nodiscard]] Architecture parse_architecture(std::string_view text, const std::string& file_name);

}  // namespace stagecraft
