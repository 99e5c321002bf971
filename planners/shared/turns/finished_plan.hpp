#pragma once

#include "planners/planner.hpp"

namespace stagecraft {

/// The planner's plan as users get it: with the order of turns (`with_ordered_turns`) and the shares
/// (`with_level_shares`) of replicas, unless the planner's own orders are meant.
[[nodiscard]] Planned finished_plan(const PlannerInfo& planner, const PlanRequest& request, Planned planned);

}  // namespace stagecraft
