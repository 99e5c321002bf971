#pragma once

#include "sim/model/events.hpp"
#include "sim/model/report.hpp"
#include "sim/schedule/lower.hpp"

#include <vector>

namespace stagecraft {

/// Whether an event changes the model or the size of a microbatch.
[[nodiscard]] bool changes_work(const Event& event);

/// Takes out the strikes of events whose model or size of a microbatch never began: the run ended before, or another
/// one began with the same microbatch. `events`: of the run; `listed`: as the file lists them; `models`: of the run,
/// after the first one.
void leave_out_unbegun(Report& report, const Events& events, const Events& listed,
                       const std::vector<NextModel>& models);

}  // namespace stagecraft
