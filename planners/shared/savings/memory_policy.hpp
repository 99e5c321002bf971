#pragma once

#include "planners/planner.hpp"

namespace stagecraft {

/// The planner's plan under the request's memory policy. A plan that fits without memory actions is the answer under
/// every policy. A planner that chooses actions itself is asked for this policy; one that does so while it cuts, with
/// `cheapest` in small problems for `recompute` and `swap`, too. The plan of any other that fits because stages have a
/// cap on microbatches in flight is the answer if no other has a better claim. Else two cuts get the cheapest actions
/// with which they fit (`with_savings`): that of the planner for devices with memory without end, and that for a model
/// whose layers are all recomputed, on the devices as they are. The answer is the one with the better claim. A planner
/// with variants is asked for each of them in this way (`fastest_variant`).
/// **Throws** as the planner. **Cost** that of the planner; three times that, and `with_savings`, if nothing fits.
[[nodiscard]] PlanResult plan_within_memory(const PlannerInfo& planner, const PlanRequest& request);

/// The plan if it fits; else with the cheapest actions of the policy with which it does.
/// **Requires** and **throws** as `judged`. **Cost** that of `judged`, and twice that of `with_savings`.
[[nodiscard]] PlanResult judged_with_savings(const PlanRequest& request, const Planned& planned);

/// Adds to a refusal that the actions of the policy do not help, and in place of the least memory without them how to
/// search for the least memory with them, if that is quick. Swaps take an evaluation, so where that takes long, only
/// recomputation counts.
[[nodiscard]] Infeasible saving_refusal(const PlannerInfo& planner, const PlanRequest& request, Infeasible none);

/// The model if every layer is recomputed by itself: its forward counts again in its backward, its checkpoint is all
/// that it keeps, and what it makes again is workspace.
[[nodiscard]] LayerGraph with_all_recomputed(LayerGraph graph);

}  // namespace stagecraft
