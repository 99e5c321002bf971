#include "sim/schedule/schedule_info.hpp"

#include "sim/base/error.hpp"

#include <algorithm>

namespace stagecraft {

const std::vector<const ScheduleInfo*>& all_schedules() {
  static const std::vector<const ScheduleInfo*> schedules = {&one_f_one_b_schedule, &gpipe_schedule, &literal_schedule,
                                                             &pipedream_schedule};
  return schedules;
}

const ScheduleInfo* find_schedule(std::string_view name) {
  const auto& all = all_schedules();
  const auto found = std::ranges::find(all, name, [](const ScheduleInfo* info) { return info->name; });
  return found == all.end() ? nullptr : *found;
}

std::int64_t weight_versions(const Plan& plan, StageId stage) {
  if (plan.stages[stage.value()].weight_versions) return *plan.stages[stage.value()].weight_versions;
  const ScheduleInfo* schedule = find_schedule(plan.schedule.name);
  STAGECRAFT_CHECK(schedule != nullptr, "the schedule is known");
  return schedule->weight_versions(plan, stage);
}

std::int64_t in_flight(const Plan& plan, StageId stage) {
  const ScheduleInfo* schedule = find_schedule(plan.schedule.name);
  STAGECRAFT_CHECK(schedule != nullptr, "the schedule is known");
  return schedule->in_flight(plan, stage);
}

}  // namespace stagecraft
