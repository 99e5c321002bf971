#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stagecraft {

/// Rows of text in columns.
struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  ///< as long as the header
  std::size_t left_columns = 1;                ///< so many are flush left, the others right
  bool is_last_left = false;                   ///< the last column is flush left too
  [[nodiscard]] bool is_left(std::size_t column) const {
    return column < left_columns || (is_last_left && column + 1 == header.size());
  }
};

/// One line for the header, one for each row; columns are two blanks apart, no line ends in a blank.
[[nodiscard]] std::string to_text(const Table& table);

/// `ratio` of 0 to 1 as `12.3 %`.
[[nodiscard]] std::string percent(double ratio);

/// With its sign: `+12.3 %`; none for what rounds to zero.
[[nodiscard]] std::string signed_percent(double ratio);

/// Three digits or more: `1234`, `56.7`, `0.0891`.
[[nodiscard]] std::string short_number(double value);

}  // namespace stagecraft
