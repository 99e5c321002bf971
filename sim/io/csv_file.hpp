#pragma once

#include "sim/base/error.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// A table of plain fields: comma-separated values without quotes. The first line names the columns. Blank lines and
/// lines that begin with `#` are left out, and so are blanks around a field and a byte order mark.
class CsvTable {
 public:
  /// **Throws** InputError naming the line of the first row that has another number of fields than the header, and for
  /// a quoted field or a text without a row.
  CsvTable(std::string_view text, std::string file_name);

  [[nodiscard]] std::size_t rows() const { return lines_.size(); }
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  /// The position of the column of that name. **Throws** InputError if there is none.
  [[nodiscard]] std::size_t column(const std::string& name) const;
  [[nodiscard]] const std::string& at(std::size_t row, std::size_t column) const {
    return fields_[row * columns_.size() + column];
  }
  /// For messages about that field.
  [[nodiscard]] InputPlace place(std::size_t row, std::size_t column) const;

 private:
  void add_line(std::string_view line, int number);

  std::string file_;
  std::vector<std::string> columns_;
  std::vector<std::string> fields_;  ///< row by row
  std::vector<int> lines_;           ///< of each row
};

}  // namespace stagecraft
