#pragma once

#include "sim/model/plan.hpp"
#include "sim/schedule/families/spp_pe/processing_order.hpp"
#include "sim/schedule/schedule_family.hpp"

namespace stagecraft {

extern const ScheduleFamily family_spp_pe;

/// The settings that the parameters of schedule `spp-pe` ask for. **Throws** like `schedule_parameters`.
[[nodiscard]] ProcessingSettings processing_settings(const ScheduleChoice& choice);

}  // namespace stagecraft
