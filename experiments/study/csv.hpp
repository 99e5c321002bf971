#pragma once

#include "experiments/study/result_table.hpp"

#include <string>

namespace stagecraft {

/// A header and the rows as comma-separated values (RFC 4180, but lines end in a line feed). Null is an empty field,
/// lists and records are JSON texts, and numbers are written as in JSON. Texts are not changed, not even those that a
/// spreadsheet would take for a formula.
[[nodiscard]] std::string to_csv(const ResultTable& table);

}  // namespace stagecraft
