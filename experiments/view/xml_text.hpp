#pragma once

#include <string>

namespace stagecraft {

/// The text as the content of an XML element. Control characters and bytes that are not UTF-8, which XML does not
/// allow, are shown as `one_line` shows them.
[[nodiscard]] std::string xml_text(const std::string& text);

}  // namespace stagecraft
