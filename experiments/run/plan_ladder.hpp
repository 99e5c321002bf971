#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <optional>

namespace stagecraft {

/// How far down the time of a flushed plan could go without contention, step by step (docs/reference/report.md).
struct PlanLadder {
  Seconds evaluated;
  Seconds any_order;  ///< the bound of the plan itself
  Seconds any_plan;   ///< that of its class (`ClassBound`)
  Seconds work;       ///< if all devices compute all the time
};

/// None for a plan that is not in the class, of a model and a platform that are too large to look at, and where nothing
/// takes any time.
[[nodiscard]] std::optional<PlanLadder> plan_ladder(const LayerGraph& graph, const Platform& platform,
                                                    const ScheduleProgram& program, Seconds evaluated);

}  // namespace stagecraft
