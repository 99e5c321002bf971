#pragma once

#include "planners/dapple/problem.hpp"
#include "planners/planner.hpp"

namespace stagecraft::dapple {

/// The plan with the largest cap on microbatches in flight with which it fits (DAPPLE's D), without a cap if it fits
/// so; infeasible if not even one microbatch at a time fits. With a cap of D on all stages, each of the M microbatches
/// is under way for at least `round_trip`, so M · round_trip / D is predicted if it is longer than the plan's claim.
[[nodiscard]] PlanResult within_memory(const PlanRequest& request, const Planned& planned, Seconds round_trip);

/// Whether the answer is a plan without a cap.
[[nodiscard]] bool is_unlimited(const PlanResult& result);

/// Whether `challenger` is better than `best`: a plan that takes less time when it is evaluated, with the
/// problem's channels and all-reduces if cards are shared; or a plan where the
/// other is infeasible; or if both are infeasible, the one that needs less memory.
[[nodiscard]] bool is_better(const PlanRequest& request, const Problem& problem, const PlanResult& challenger,
                             const PlanResult& best);

}  // namespace stagecraft::dapple
