#pragma once

#include "planners/planner.hpp"

namespace stagecraft {

/// The contiguous stages with the least period of 1F1B* that fit the memory, as a plan of `planner`.
/// **Requires** a request for schedule `1f1b-star`.
/// **Throws** InputError as `Chain`, and for tables of more than 1 GiB.
/// **Cost** as `best_contiguous`, where the ledger counts more than the chain's formula a few times that.
[[nodiscard]] PlanResult contiguous_plan(const PlannerInfo& planner, const PlanRequest& request);

}  // namespace stagecraft
