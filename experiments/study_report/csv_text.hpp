#pragma once

#include "sim/model/detail.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// The value with its numbers rounded to six significant digits, and to 0 below 1e-12, so that they do not depend on
/// how a machine rounds. Whole numbers stay as they are.
[[nodiscard]] Detail rounded(Detail value);

/// Comma-separated values with a line of names (RFC 4180, with line feeds). Columns are in the order of `columns`, and
/// then of the lines' other names as they appear. What a line does not have is empty. A column that is empty in all
/// lines is left out, and one of the counts of cells by status if it is 0 in all lines.
[[nodiscard]] std::string csv_text(std::vector<std::string> columns, const std::vector<Detail::Record>& lines);

}  // namespace stagecraft
