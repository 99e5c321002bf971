#pragma once

#include "experiments/study_report/planning_times.hpp"
#include "experiments/study_report/summary.hpp"
#include "experiments/view/document.hpp"
#include "sim/model/detail.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// The report with its tables: one over all groups, one for each group (or the tables that the study asks for), one
/// of claims and regret, and then the reasons why cells have no figures. The table of claims also shows `times`, if
/// any.
[[nodiscard]] Document study_document(const StudySummary& summary, const std::vector<PlanningTimes>& times = {});

/// The same as JSON, without rounding (docs/reference/study-report.md).
[[nodiscard]] Detail::Record study_record(const StudySummary& summary);

/// Both as one HTML file that needs no other file and no network, with tables to sort and charts. It also shows
/// `timelines` (`cell_timelines`).
[[nodiscard]] std::string study_page(const StudySummary& summary, const std::vector<PlanningTimes>& times,
                                     Detail::List timelines = {});

/// Comma-separated values: a line for each place of the study's tables or, if it asks for none, for each contender in
/// each group. Figures have six significant digits (`rounded`).
[[nodiscard]] std::string study_csv(const StudySummary& summary);

}  // namespace stagecraft
