#pragma once

#include "planners/planner.hpp"

namespace stagecraft {

/// For a planner that relies on a formula for the time of an iteration. **Throws** InputError for a schedule with fixed
/// orders, which has none.
void require_formula(const PlannerInfo& planner, const PlanRequest& request);

/// For a planner that puts one stage on each device of a chain. **Throws** InputError for a schedule that places stages
/// in another way, and as `require_family`.
void require_straight(const PlannerInfo& planner, const PlanRequest& request);

}  // namespace stagecraft
