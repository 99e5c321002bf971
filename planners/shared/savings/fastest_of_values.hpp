#pragma once

#include "planners/planner.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace stagecraft {

/// Plans for each of the values of an option, a count, as if the user had given it (`plan_within_memory`), and answers
/// with the plan whose iteration takes least when it is evaluated (`evaluated_claim`), of an asynchronous schedule with
/// the least claim; with the first of equal ones. So a plan that fits with memory actions only is compared with these.
/// A value that the planner or the schedule refuses is left out. Without any plan the answer is a value's that lacks
/// memory, the least if that is known. `call`: how a note calls the plan of a value.
/// **Requires** at least one value, and a planner that with none of them tries values. **Throws** InputError if all are
/// refused: the first refusal. **Cost** that of `plan_within_memory` and `evaluated_claim` for each.
[[nodiscard]] PlanResult fastest_of_values(const PlannerInfo& planner, const PlanRequest& request,
                                           const std::string& option, const std::vector<std::int64_t>& values,
                                           const std::function<std::string(std::int64_t)>& call);

}  // namespace stagecraft
