#pragma once

#include "experiments/view/table.hpp"

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stagecraft {

/// A heading and its content, in the order of the fields. Texts are not escaped: each format of the document escapes
/// what it would take for markup.
struct Section {
  std::string heading;                 ///< empty: none
  std::vector<std::string> sentences;  ///< a line each
  std::optional<Table> table;
  std::set<std::size_t> strong_rows;  ///< rows of the table to emphasize, if the format can
  std::vector<std::string> items;     ///< a list
};

/// The content of a report, independent of its format.
struct Document {
  std::string title;
  std::vector<Section> sections;
};

/// Plain text.
[[nodiscard]] std::string to_text(const Document& document);

/// Markdown as GitHub reads it.
[[nodiscard]] std::string to_markdown(const Document& document);

/// Text on one line: control characters and bytes that are not UTF-8 are escaped, as in `\n` or `\x1b`.
[[nodiscard]] std::string one_line(const std::string& text);

}  // namespace stagecraft
