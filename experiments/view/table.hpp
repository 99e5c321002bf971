#pragma once

#include "sim/base/quantity.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// Rows of text in columns.
struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  ///< as long as the header
  std::size_t left_columns = 1;                ///< number of leading columns that are aligned left; others align right
  bool is_last_left = false;                   ///< whether the last column is aligned left too
  [[nodiscard]] bool is_left(std::size_t column) const {
    return column < left_columns || (is_last_left && column + 1 == header.size());
  }
};

/// One line for the header and one for each row. Columns are two blanks apart, and no line ends in a blank. If
/// `columns` are given and a line would be longer, the table is split into parts, one below the other with an empty
/// line between them, each with the first column; a line is then longer only if it has no more than two columns.
/// **Requires** a column.
[[nodiscard]] std::string to_text(const Table& table, const std::optional<std::size_t>& columns);

/// For the screen, if there is one.
[[nodiscard]] std::string to_text(const Table& table);

/// `1.5 ms`, or `-`.
[[nodiscard]] std::string time_or_dash(const std::optional<Seconds>& value);

/// `ratio` of 0 to 1 as `12.3 %`.
[[nodiscard]] std::string percent(double ratio);

/// The ratio with its sign: `+12.3 %`; without a sign if it rounds to zero.
[[nodiscard]] std::string signed_percent(double ratio);

}  // namespace stagecraft
