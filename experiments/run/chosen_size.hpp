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

inline constexpr const char* kFastestSize = "auto";  ///< the word for `PlanningChoices::fastest_size`

/// The sizes that the choices allow and at which no times are extrapolated, increasing. A note says if some are left
/// out.
/// **Requires** choices with `fastest_size`. **Throws** InputError as `check_size_choice`, and if there is none.
[[nodiscard]] std::vector<std::int64_t> known_sizes(const Inputs& inputs, const PlanningChoices& choices,
                                                    const std::function<void(const std::string&)>& say);

/// Plans as `make_plan`, at the microbatch size that the user gives or, with `fastest_size`, at those that the choices
/// allow (`sizes_to_choose`) and at which no times are extrapolated: first from the smallest on each at least twice the
/// one before, and those of the model file; then the others, the nearest to the fastest one first. Nothing larger than
/// two of the first in a row that do not fit is tried, and no more than 32 sizes, or as many as take
/// `run_limits::kMostSearchWork`.
/// **Returns** the plan with the most samples per second without contention (`evaluate_planning`) among those that fit,
/// of equal ones the first; if none fits, the answer for the smallest size. A note names the sizes. The
/// time is that of all of them.
/// **Throws** InputError as `check_size_choice`, if no size may be tried, if all are refused, and if an external
/// planner fails.
[[nodiscard]] Planning plan_at_chosen_size(const PlannerInfo& planner, const Inputs& inputs,
                                           const PlanningChoices& choices,
                                           const std::function<void(const std::string&)>& say);

}  // namespace stagecraft
