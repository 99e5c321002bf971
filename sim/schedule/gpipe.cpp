#include "sim/schedule/ranks.hpp"
#include "sim/schedule/rounds.hpp"
#include "sim/schedule/schedule_info.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

std::int64_t one_weight_version(const Plan& /*plan*/, StageId /*stage*/) { return 1; }

std::int64_t all_in_flight(const Plan& plan, StageId stage) {
  return microbatches_of(plan.stages[stage.value()], 0, plan.microbatches);
}

/// With every forward before any backward, a cap below the number of microbatches can never be kept.
std::optional<std::string> cap_problem(const Plan& plan) {
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const std::int64_t needed = all_in_flight(plan, StageId(s));
    if (plan.stages[s].in_flight && *plan.stages[s].in_flight < needed) {
      return "gpipe keeps all " + std::to_string(needed) + " microbatches of stage " + std::to_string(s) +
             " in flight, more than its cap of " + std::to_string(*plan.stages[s].in_flight);
    }
  }
  return std::nullopt;
}

void add_range(const Stage& stage, StageId id, std::int64_t replica, ActionKind kind, Segment range,
               std::vector<Action>& actions) {
  const std::int64_t replicas = alternating_replicas(stage);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    Action action;
    action.kind = kind;
    action.stage = id;
    action.microbatch = static_cast<std::uint32_t>(replicas == 1 ? i : i * replicas + replica);
    actions.push_back(action);
  }
}

Schedule build(const Plan& plan, Segment segment) {
  if (shares_devices(plan)) {
    return segment.begin > 0 ? Schedule{} : order_by_rounds(plan, Preference::ForwardsFirst, &all_in_flight);
  }
  Schedule schedule;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    for (std::size_t r = 0; r < stage.devices.size(); ++r) {
      schedule.devices.push_back({stage.devices[r], Discipline::Strict, {}});
      std::vector<Action>& actions = schedule.devices.back().actions;
      const auto replica = static_cast<std::int64_t>(r);
      const auto local = [&](std::int64_t end) {
        return std::max<std::int64_t>(0, microbatches_of(stage, replica, end));
      };
      if (segment.begin == 0) {
        add_range(stage, StageId(s), replica, ActionKind::Forward, {0, local(plan.microbatches)}, actions);
      }
      add_range(stage, StageId(s), replica, ActionKind::Backward, {local(segment.begin), local(segment.end)}, actions);
    }
  }
  return schedule;
}

}  // namespace

const ScheduleInfo gpipe_schedule = {"gpipe",
                                     "all forwards, then all backwards; flushed at the end of the iteration",
                                     "GPipe (Huang et al., NeurIPS 2019)",
                                     true,
                                     {},
                                     &cap_problem,
                                     &one_weight_version,
                                     &all_in_flight,
                                     &build,
                                     &shares_devices};

}  // namespace stagecraft
