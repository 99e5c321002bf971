#pragma once

#include "planners/planner.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/report.hpp"

#include <string>

namespace stagecraft {

// What plans do to fit in memory, as tables of plans show it.

/// Whether the plan recomputes or swaps a layer.
[[nodiscard]] bool saves(const Plan& plan);

/// `37r 2s`: how many layers are recomputed and swapped; with ` ^` if the common memory policy chose it; else `-`.
[[nodiscard]] std::string saving_text(const Planned& planned);

/// Who chose what the plan saves: `planner`, `policy`, or null if it saves nothing.
[[nodiscard]] Detail memory_by(const Planned& planned);

extern const char* const kSavesLegend;   ///< explains `37r 2s`
extern const char* const kPolicyLegend;  ///< explains `^`

/// The device's peak, in one unit so that rows can be compared: `10.57 GiB`.
[[nodiscard]] std::string peak_text(const DeviceReport& device);

}  // namespace stagecraft
