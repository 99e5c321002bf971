#pragma once

#include "experiments/study_report/cross_table.hpp"
#include "experiments/view/document.hpp"
#include "sim/model/detail.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// The title of the table, or else one made of its figure and its patterns.
[[nodiscard]] std::string table_heading(const CrossTable& table);

/// The heading of a column: `data-parallel`, `network analytic`. `names` are the keys of all columns.
[[nodiscard]] std::string column_text(const Keys& column, const std::vector<std::string>& names);

/// A table that a study asks for, with a sentence that says what its figures are. A figure that is computed from only
/// some of its cells shows from how many.
[[nodiscard]] Section table_section(const CrossTable& table);

/// A record for each place of the table that has cells: its keys, its value, and how its cells ended.
[[nodiscard]] Detail::List table_places(const CrossTable& table);

/// The same as JSON, without rounding (docs/reference/study-report.md).
[[nodiscard]] Detail::Record table_record(const CrossTable& table);

}  // namespace stagecraft
