#pragma once

#include "experiments/study_report/cross_table.hpp"
#include "experiments/view/document.hpp"
#include "sim/model/detail.hpp"

namespace stagecraft {

/// A table that a study asks for, with a sentence that says what its figures are. A figure that is computed from only
/// some of its cells shows from how many.
[[nodiscard]] Section table_section(const CrossTable& table);

/// The same as JSON, without rounding (docs/reference/study-report.md).
[[nodiscard]] Detail::Record table_record(const CrossTable& table);

}  // namespace stagecraft
