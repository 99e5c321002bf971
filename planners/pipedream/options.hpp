#pragma once

#include "planners/planner.hpp"

#include <vector>

namespace stagecraft::pipedream {

/// The option table of the planners that run PipeDream's dynamic program.
[[nodiscard]] std::vector<OptionInfo> options();

/// The answer of planner `pipedream`. With `powers_of_two` it is the best plan whose stages have 1, 2, 4, 8 … replicas.
/// **Throws** as a planner.
[[nodiscard]] PlanResult plan_pipedream(const PlanRequest& request, bool powers_of_two);

}  // namespace stagecraft::pipedream
