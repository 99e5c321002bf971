#pragma once

#include <string>
#include <string_view>

namespace stagecraft {

/// The SHA-256 of a text as 64 lower-case hexadecimal digits.
[[nodiscard]] std::string sha256(std::string_view text);

}  // namespace stagecraft
