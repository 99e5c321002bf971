#pragma once

#include <cstddef>
#include <string_view>

namespace stagecraft {

/// The length in bytes of the UTF-8 character that starts at `at`, a position inside the text; 0 if none starts there.
[[nodiscard]] std::size_t utf8_length(std::string_view text, std::size_t at);

/// Whether a UTF-8 character is a control character, which a terminal or another reader may take for a command or the
/// end of a line, or which change the direction of text: those of ASCII, U+0080 to U+009F, U+061C, U+200E, U+200F,
/// U+2028 to U+202E, and U+2066 to U+2069.
[[nodiscard]] bool is_control_character(std::string_view character);

}  // namespace stagecraft
