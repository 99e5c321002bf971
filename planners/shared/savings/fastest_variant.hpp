#pragma once

#include "planners/planner.hpp"

#include <functional>

namespace stagecraft {

/// The fastest (`FastestPlan`) of the plans that `plan` makes for the planner's variants of the request, with a note
/// that says which it is, if not the first. Without variants, what `plan` makes for the request. A variant that is
/// refused is left out. Without any plan the answer is the refusal that says most: with what memory there would be one,
/// and the least of it.
/// **Throws** InputError if every variant is refused: that of the first. **Cost** of `plan` for each.
[[nodiscard]] PlanResult fastest_variant(const PlannerInfo& planner, const PlanRequest& request,
                                         const std::function<PlanResult(const PlanRequest&)>& plan);

/// Whether a refusal says more than another one: with what memory there would be a plan, and less of it; how to search
/// for it; or which device lacks memory.
[[nodiscard]] bool says_more(const Infeasible& refusal, const Infeasible& other);

}  // namespace stagecraft
