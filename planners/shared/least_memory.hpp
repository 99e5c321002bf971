#pragma once

#include "planners/planner.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/platform.hpp"

namespace stagecraft {

/// The planner's answer. Where it finds no plan and offers a `search`, the least memory on every device with which it
/// does is found by asking again, to 1 MiB or a 4096th of what lies between that memory and the first that is enough.
/// No size is named if the planner finds no plan with a million times the memory that the search starts with.
/// **Throws** as the planner. **Cost** that of the planner; without a plan some 15 to 40 times that.
[[nodiscard]] PlanResult plan_explained(const PlannerInfo& planner, const PlanRequest& request);

/// The platform with at least that memory on every device.
[[nodiscard]] Platform with_memory(const Platform& platform, Bytes least);

/// The same request for other devices. It does not outlive `platform`.
[[nodiscard]] PlanRequest on_platform(const PlanRequest& request, const Platform& platform);

}  // namespace stagecraft
