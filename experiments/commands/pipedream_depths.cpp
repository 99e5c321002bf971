#include "experiments/commands/pipedream_depths.hpp"

#include "sim/model/detail.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/schedule_choice.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace stagecraft {
namespace {

constexpr std::int64_t kMostMultiple = 1024;  // of the schedule's option `depth`

/// What the schedule has in flight on each replica, by stage, without caps. A run that is never flushed is as long as
/// it needs to be.
std::vector<std::int64_t> in_flight_by_itself(const PlanRequest& request, Plan plan, std::int64_t most) {
  if (!require_family(plan.schedule.name).synchronous) {
    const auto devices = static_cast<std::int64_t>(request.platform.devices.size());
    plan.microbatches = std::max(plan.microbatches, (most + 1) * devices);
  }
  return require_schedule(request.graph, request.platform, plan).in_flight;
}

/// The multiple of the schedule's warm-up forwards that no stage exceeds. A stage without any stays without.
std::int64_t multiple_of_warmups(const std::vector<std::int64_t>& depths, const std::vector<std::int64_t>& in_flight) {
  std::int64_t multiple = 1;
  for (std::size_t s = 0; s < depths.size(); ++s) {
    const std::int64_t warmups = in_flight[s] - 1;
    if (warmups > 0) multiple = std::max(multiple, (depths[s] + warmups - 1) / warmups);
  }
  return std::min(multiple, kMostMultiple);
}

}  // namespace

void keep_depths(const std::vector<std::int64_t>& depths, const PlanRequest& request, Planned& planned) {
  Plan& plan = planned.plan;
  const std::int64_t most = *std::ranges::max_element(depths);
  std::vector<std::int64_t> own = in_flight_by_itself(request, plan, most);
  const std::int64_t multiple = multiple_of_warmups(depths, own);
  if (multiple > 1 && plan.schedule == ScheduleChoice{"pipedream", {}}) {
    plan.schedule.parameters = {{"depth", multiple}};
    own = in_flight_by_itself(request, plan, most);
  }
  for (std::size_t s = 0; s < depths.size(); ++s) {
    const std::int64_t in_flight = depths[s] + 1;
    if (in_flight < own[s]) plan.stages[s].in_flight = in_flight;
    if (in_flight <= own[s]) continue;
    planned.notes.push_back("stage_to_depth_map means " + std::to_string(in_flight) +
                            " microbatches in flight on stage " + std::to_string(s) + ", but with " +
                            schedule_text(plan.schedule) + " there are at most " + std::to_string(own[s]));
  }
}

}  // namespace stagecraft
