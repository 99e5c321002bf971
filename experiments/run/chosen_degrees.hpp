#pragma once

#include "experiments/run/inputs.hpp"
#include "experiments/run/planning.hpp"
#include "experiments/run/planning_choices.hpp"
#include "planners/planner.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace stagecraft {

inline constexpr const char* kFastestDegrees = "auto";  ///< the word for `PlanningChoices::fastest_degrees`

/// The tensor degrees whose groups fill the platform's nodes, increasing; where nothing is known of nodes, those whose
/// groups divide its devices. Groups have the context and expert degrees of `others`. If these alone are larger than a
/// node, tensor degrees fill a node and groups divide the platform's devices. No groups of more than `kMostInGroup`.
[[nodiscard]] std::vector<std::int64_t> tensor_degrees(const Platform& platform, Degrees others = {});

/// Plans as `plan_at_chosen_size`, for the groups that the user gives or, with `fastest_degrees`, for each of
/// `tensor_degrees`.
/// **Returns** the plan with the most samples per second without contention (`evaluate_planning`) among those that fit,
/// of equal ones that of the smallest groups; if none fits, the answer that lacks the least memory. A note names all
/// of them. The time is that of all (`search_plans`).
/// **Throws** InputError as `plan_at_chosen_size`, if all are refused, if there is no tensor degree, and if an external
/// planner fails.
[[nodiscard]] Planning plan_at_chosen_degrees(const PlannerInfo& planner, const Inputs& inputs,
                                              const PlanningChoices& choices,
                                              const std::function<void(const std::string&)>& say);

}  // namespace stagecraft
