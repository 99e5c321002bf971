#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// The names of the file formats that have a JSON Schema, in alphabetical order.
[[nodiscard]] std::vector<std::string> schema_names();

/// The JSON Schema (draft 7) of the file format `name`, such as `model`.
/// **Throws** InputError naming the known ones for any other name.
[[nodiscard]] std::string_view json_schema(std::string_view name);

}  // namespace stagecraft
