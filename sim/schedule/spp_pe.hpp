#pragma once

#include "sim/model/plan.hpp"
#include "sim/schedule/processing_order.hpp"

namespace stagecraft {

/// What the parameters of schedule `spp-pe` ask for.
[[nodiscard]] ProcessingSettings processing_settings(const ScheduleChoice& choice);

}  // namespace stagecraft
