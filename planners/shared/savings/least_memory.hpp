#pragma once

#include "planners/planner.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/platform.hpp"

namespace stagecraft {

/// The planner's answer. If it is no plan but has a `search`, adds the least memory on every device with which there is
/// a plan. That memory is found by planning again with more memory, and is accurate to 1 MiB, or to a 4096th of the
/// interval between the devices' memory and the first memory that is enough if that is less. No memory is given if
/// there is still no plan with a million times the memory at which the search starts.
/// **Throws** as the planner. **Cost** that of the planner; some 15 to 40 times that if there is no plan.
[[nodiscard]] PlanResult plan_explained(const PlannerInfo& planner, const PlanRequest& request);

/// The platform with at least that memory on every device.
[[nodiscard]] Platform with_memory(const Platform& platform, Bytes least);
/// The platform with that part of the memory of every device.
[[nodiscard]] Platform with_part_of_memory(const Platform& platform, double part);

/// The same request for another platform or another profile of the model, which must outlive it, for a new run.
[[nodiscard]] PlanRequest on_platform(const PlanRequest& request, const Platform& platform);
[[nodiscard]] PlanRequest on_graph(const PlanRequest& request, const LayerGraph& graph);

}  // namespace stagecraft
