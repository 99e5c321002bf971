#pragma once

#include "planners/planner.hpp"

namespace stagecraft {

/// The contiguous stages that fit in memory and have the least period under 1F1B*, as a plan of `planner`.
/// **Requires** a request for schedule `1f1b-star`.
/// **Throws** InputError as `Chain`, and for tables of more than 1 GiB.
/// **Cost** as `best_contiguous`.
[[nodiscard]] PlanResult contiguous_plan(const PlannerInfo& planner, const PlanRequest& request);

/// PipeDream's cut (`pipedream_cut`) with its least period under 1F1B*. **Requires** and **throws** as above.
[[nodiscard]] PlanResult pipedream_cut_plan(const PlannerInfo& planner, const PlanRequest& request);

}  // namespace stagecraft
