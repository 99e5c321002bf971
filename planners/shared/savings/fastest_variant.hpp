#pragma once

#include "planners/planner.hpp"

#include <functional>

namespace stagecraft {

/// The plan with the best claim of those that `plan` makes for the planner's variants of the request, with a note that
/// says which it is; of equal ones the first. Without variants, what `plan` makes for the request. After six variants,
/// or two if the model has many layers, the first plan ends the search. If there is no plan, the refusal of the variant
/// that lacks the least memory.
/// **Throws** InputError if every variant is refused: that of the first.
[[nodiscard]] PlanResult fastest_variant(const PlannerInfo& planner, const PlanRequest& request,
                                         const std::function<PlanResult(const PlanRequest&)>& plan);

}  // namespace stagecraft
