#pragma once

#include "experiments/run/simulation.hpp"
#include "experiments/view/explanation.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/platform.hpp"

#include <string>

namespace stagecraft {

struct Plan;

/// A simulation as `simulate --json` shows it (contract, section 9). `memory_bytes` of a device is what plans may use:
/// its memory less what is reserved. `overflows` lists where memory did not fit, when first, and by how much.
[[nodiscard]] Detail::Record simulation_record(const Simulation& simulation, const Plan& plan, const Platform& platform,
                                               const Explanation& explanation, bool timings);

/// Every operation of a run that takes part in it, by start, then id.
[[nodiscard]] Detail::List timeline_list(const Timeline& timeline, const Platform& platform);

}  // namespace stagecraft
