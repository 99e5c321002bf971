#pragma once

#include "planners/planner.hpp"

namespace stagecraft {

/// The planner's plan under the request's memory policy. A plan that fits without memory actions is the answer under
/// every policy, and so is that of a planner which chooses actions itself. A plan that fits because stages have a cap on
/// microbatches in flight is the answer if no other has a better claim. Else two cuts get the cheapest actions with
/// which they fit (`with_savings`): that of the planner for devices with memory without end, and that for a model whose
/// layers are all recomputed, on the devices as they are. The answer is the one with the better claim.
/// **Throws** as the planner. **Cost** that of the planner; three times that, and `with_savings`, if nothing fits.
[[nodiscard]] PlanResult plan_within_memory(const PlannerInfo& planner, const PlanRequest& request);

/// The model if every layer is recomputed by itself: its forward counts again in its backward, its checkpoint is all that
/// it keeps, and what it makes again is workspace.
[[nodiscard]] LayerGraph with_all_recomputed(LayerGraph graph);

}  // namespace stagecraft
