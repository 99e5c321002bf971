#pragma once

#include "sim/model/events.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/report.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft {

/// The positions in the file, from 0, of the events of a run that happened when the plan used none of the devices that
/// they name. `first`: the plan with which the run began; `events`: of the run.
[[nodiscard]] std::vector<std::size_t> idle_events(const Report& report, const Plan& first, const Events& events);

}  // namespace stagecraft
