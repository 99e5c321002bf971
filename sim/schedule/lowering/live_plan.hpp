#pragma once

#include "sim/schedule/lowering/live_switch.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft {

/// A shape of a switch, and the microbatches from which on passes follow it.
struct LiveShape {
  std::unique_ptr<const RunShape> shape;
  ShapeBegin begin;
};

/// How a run goes over from one plan to the next without draining.
struct LivePlan {
  std::int64_t first = 0;         ///< the first microbatch whose forward follows the next plan
  std::vector<LiveShape> shapes;  ///< in the order in which backwards come to them; the last one is the next plan's
  std::vector<LiveMove> moves;
};

/// The memory that each device of the plan keeps from the start. `versions`: of the weights, by stage.
[[nodiscard]] std::map<DeviceId, StaticMemory> kept_memory(const RunShape& shape,
                                                           const std::vector<std::int64_t>& versions);

/// The switch from the plan of `now`, lowered by `before`, to that of `next`, whose forwards begin with microbatch
/// `first` of the plan; or the reason why the plan has to drain, a sentence without its full stop. If stages lack
/// memory for what they get, they first do with their stash what the next plan says, and the switch comes later, before
/// `end`.
/// **Requires** programs for as many microbatches.
[[nodiscard]] std::variant<LivePlan, std::string> live_plan(const RunShape& now, const ScheduleProgram& before,
                                                            const ScheduleProgram& next, std::int64_t first,
                                                            std::int64_t end);

}  // namespace stagecraft
