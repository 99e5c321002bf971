#pragma once

#include "experiments/study_report/summary.hpp"
#include "experiments/view/document.hpp"

#include <optional>

namespace stagecraft {

/// The ten lines with the most samples/s of all groups, whose cells are all `ok`; equal ones in the order of the study.
/// None unless all cells have one model, so that samples are alike, and there are several groups and more lines.
[[nodiscard]] std::optional<Section> fastest_section(const StudySummary& summary);

}  // namespace stagecraft
