#pragma once

#include "sim/analytic/lower_bound.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <functional>
#include <optional>

namespace stagecraft {

/// How far down the time of a flushed plan could go, step by step (docs/reference/report.md).
struct PlanLadder {
  Seconds time;  ///< of an iteration
  /// The bound of the plan itself, raised to that of its class: what no plan of it beats this one does not, either.
  LowerBound any_order;
  Seconds any_plan;  ///< that of its class (`ClassBound`)
  Seconds work;      ///< if all devices compute all the time
};

/// None for a plan that is not in the class, of a model and a platform that are too large to look at, and where nothing
/// takes any time. `own`: finds the bound of the plan, if it is wanted. `shares_links`: for both bounds, as
/// `BoundOptions` has it.
[[nodiscard]] std::optional<PlanLadder> plan_ladder(const LayerGraph& graph, const Platform& platform,
                                                    const ScheduleProgram& program, Seconds time,
                                                    const std::function<std::optional<LowerBound>()>& own,
                                                    bool shares_links);

}  // namespace stagecraft
