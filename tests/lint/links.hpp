#pragma once

#include "tests/lint/source_tree.hpp"

#include <string>
#include <vector>

namespace stagecraft::lint {

/// The anchor that a Markdown heading gets: lower case, punctuation dropped, blanks as dashes.
[[nodiscard]] std::string anchor_of(const std::string& heading);

/// Relative links of a Markdown file lead to a file below `root`, and `#anchors` to a heading of it. Code blocks and
/// links to other hosts are not looked at.
[[nodiscard]] std::vector<Violation> check_links(const SourceFile& file, const std::string& root);

}  // namespace stagecraft::lint
