#pragma once

#include "planners/planner.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// Gives the stages of an imported plan the warm-up forwards of PipeDream's configuration, by stage. `in_flight` is one
/// more, on stages where the schedule has more by itself. If the schedule is `pipedream` without parameters and has
/// fewer warm-up forwards, its `depth` becomes as large as they need. A note tells of stages on which the schedule
/// cannot have as many. **Requires** one depth for each stage, and a plan whose stages are known.
void keep_depths(const std::vector<std::int64_t>& depths, const PlanRequest& request, Planned& planned);

}  // namespace stagecraft
