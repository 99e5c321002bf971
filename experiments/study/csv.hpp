#pragma once

#include "experiments/study/result_table.hpp"

#include <string>

namespace stagecraft {

/// A header and the rows as comma-separated values (RFC 4180, lines end in a line feed). Null is empty, lists and
/// records are JSON texts, numbers as `to_json` writes them. Texts stay as they are, also those that a spreadsheet
/// would take for a formula.
[[nodiscard]] std::string to_csv(const ResultTable& table);

}  // namespace stagecraft
