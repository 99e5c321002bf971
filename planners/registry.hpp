#pragma once

#include "planners/planner.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// Every planner of the list PLANNERS in planners/CMakeLists.txt, in its order.
[[nodiscard]] const std::vector<const PlannerInfo*>& all_planners();

/// **Throws** InputError for an unknown name, listing the known ones and the nearest.
[[nodiscard]] const PlannerInfo& find_planner(const std::string& name);

}  // namespace stagecraft
