#pragma once

#include "experiments/study_report/summary.hpp"
#include "experiments/view/document.hpp"
#include "sim/model/detail.hpp"

#include <string>

namespace stagecraft {

/// Tables for people: one over all groups, one for each group, then why cells gave no figures.
[[nodiscard]] Document study_document(const StudySummary& summary);

/// The same for programs, nothing rounded (docs/reference/study-report.md).
[[nodiscard]] Detail::Record study_record(const StudySummary& summary);

/// One line for each planner in each group, comma-separated, nothing rounded.
[[nodiscard]] std::string study_csv(const StudySummary& summary);

}  // namespace stagecraft
