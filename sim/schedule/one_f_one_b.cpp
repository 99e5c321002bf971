#include "sim/schedule/one_f_one_b.hpp"

#include "sim/schedule/ranks.hpp"
#include "sim/schedule/rounds.hpp"
#include "sim/schedule/schedule_info.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

std::int64_t one_weight_version(const Plan& /*plan*/, StageId /*stage*/) { return 1; }

/// Local microbatches of a replica whose global numbers are below `end`.
std::int64_t local_count(const Stage& stage, std::int64_t replica, std::int64_t end) {
  return std::max<std::int64_t>(0, microbatches_of(stage, replica, end));
}

void add_worker(const Plan& plan, StageId id, std::int64_t replica, Segment segment, std::vector<Action>& actions) {
  const Stage& stage = plan.stages[id.value()];
  const std::int64_t replicas = alternating_replicas(stage);
  const std::int64_t count = microbatches_of(stage, replica, plan.microbatches);
  const std::int64_t warm = std::min(warmup(plan, id), count);
  const std::int64_t begin = local_count(stage, replica, segment.begin);
  const std::int64_t end = local_count(stage, replica, segment.end);
  actions.reserve(static_cast<std::size_t>(2 * (end - begin) + warm));
  const auto add = [&](ActionKind kind, std::int64_t local) {
    Action action;
    action.kind = kind;
    action.stage = id;
    action.microbatch = static_cast<std::uint32_t>(replicas == 1 ? local : local * replicas + replica);
    actions.push_back(action);
  };
  if (segment.begin == 0) {
    for (std::int64_t i = 0; i < warm; ++i) add(ActionKind::Forward, i);
  }
  for (std::int64_t i = begin; i < end; ++i) {
    if (i + warm < count) add(ActionKind::Forward, i + warm);
    add(ActionKind::Backward, i);
  }
}

}  // namespace

std::int64_t one_f_one_b_in_flight(const Plan& plan, StageId stage) {
  const std::int64_t count = microbatches_of(plan.stages[stage.value()], 0, plan.microbatches);
  return std::min(warmup(plan, stage) + 1, count);
}

Schedule build_one_f_one_b(const Plan& plan, Segment segment) {
  if (shares_devices(plan)) {
    if (segment.begin > 0) return {};
    return order_by_rounds(plan, Preference::BackwardsFirst, &one_f_one_b_in_flight);
  }
  Schedule schedule;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    for (std::size_t r = 0; r < plan.stages[s].devices.size(); ++r) {
      schedule.devices.push_back({plan.stages[s].devices[r], Discipline::Strict, {}});
      add_worker(plan, StageId(s), static_cast<std::int64_t>(r), segment, schedule.devices.back().actions);
    }
  }
  return schedule;
}

const ScheduleInfo one_f_one_b_schedule = {
    "1f1b",
    "one forward, one backward in turn after a warm-up; flushed at the end of the iteration",
    "PipeDream-Flush (Narayanan et al., ICML 2021); DAPPLE policy A (Fan et al., PPoPP 2021)",
    true,
    {},
    nullptr,
    &one_weight_version,
    &one_f_one_b_in_flight,
    &build_one_f_one_b};

}  // namespace stagecraft
