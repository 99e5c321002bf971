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

constexpr std::int64_t kPlain = 1;
constexpr std::int64_t kEager = 2;

std::int64_t pending(const Plan& plan, StageId stage, std::int64_t eagerness) {
  const std::int64_t count = microbatches_of(plan.stages[stage.value()], 0, plan.microbatches);
  return std::min(warmup(plan, stage, eagerness) + 1, count);
}

void add_worker(const Plan& plan, StageId id, std::int64_t replica, Segment segment, std::int64_t eagerness,
                std::vector<Action>& actions) {
  const Stage& stage = plan.stages[id.value()];
  const std::int64_t replicas = alternating_replicas(stage);
  const std::int64_t count = microbatches_of(stage, replica, plan.microbatches);
  const std::int64_t warm = std::min(warmup(plan, id, eagerness), count);
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

using InFlight = std::int64_t (*)(const Plan& plan, StageId stage);

Schedule build(const Plan& plan, Segment segment, std::int64_t eagerness, InFlight in_flight_of) {
  if (shares_devices(plan)) {
    if (segment.begin > 0) return {};
    return order_by_rounds(plan, Preference::BackwardsFirst, in_flight_of);
  }
  Schedule schedule;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    for (std::size_t r = 0; r < plan.stages[s].devices.size(); ++r) {
      schedule.devices.push_back({plan.stages[s].devices[r], Discipline::Strict, {}});
      add_worker(plan, StageId(s), static_cast<std::int64_t>(r), segment, eagerness, schedule.devices.back().actions);
    }
  }
  return schedule;
}

std::int64_t eager_in_flight(const Plan& plan, StageId stage) { return pending(plan, stage, kEager); }
Schedule build_eager(const Plan& plan, Segment segment) { return build(plan, segment, kEager, &eager_in_flight); }

}  // namespace

std::int64_t one_f_one_b_in_flight(const Plan& plan, StageId stage) { return pending(plan, stage, kPlain); }

Schedule build_one_f_one_b(const Plan& plan, Segment segment) {
  return build(plan, segment, kPlain, &one_f_one_b_in_flight);
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
    &build_one_f_one_b,
    &shares_devices};

const ScheduleInfo eager_one_f_one_b_schedule = {
    "eager-1f1b",
    "as 1f1b with twice the warm-up, which hides the time of transfers; flushed at the end of the iteration",
    "DAPPLE policy B (Fan et al., PPoPP 2021)",
    true,
    {},
    nullptr,
    &one_weight_version,
    &eager_in_flight,
    &build_eager,
    &shares_devices};

}  // namespace stagecraft
