#pragma once

#include "experiments/run/plan_search.hpp"
#include "experiments/run/search_axes.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/platform.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// A table of what was tried, which has to be the best first (`PlanSearch::tries`), of at most 20 rows; and why the
/// others have no figures.
[[nodiscard]] std::string search_text(const std::vector<PlanTry>& tries, const std::vector<SearchAxis>& axes,
                                      const Platform& platform);

/// All that was tried, as `plan --json` shows it under `search` (docs/reference/report.md).
[[nodiscard]] Detail::List search_list(const std::vector<PlanTry>& tries, const std::vector<SearchAxis>& axes,
                                       const Platform& platform);

}  // namespace stagecraft
