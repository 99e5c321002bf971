#include "planners/shared/savings/fastest_plan.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/evaluated_claim.hpp"
#include "planners/shared/turns/finished_plan.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/schedule/convergence.hpp"
#include "sim/schedule/lower.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace stagecraft {
namespace {

bool has_unequal_devices(const Platform& platform) {
  const Device& first = platform.devices[DeviceId(0)];
  for (DeviceId id : indices(platform.devices)) {
    const Device& device = platform.devices[id];
    if (device.kind != first.kind || device.slowdown != first.slowdown) return true;
  }
  return false;
}

/// How much longer a run takes at least because flows share links, which an evaluation leaves out: as often as the
/// busiest link carries in the evaluated time what it can carry in it.
double stretch_of(const Report& report) {
  double stretch = 1.0;
  for (const LinkReport& link : report.links) stretch = std::max(stretch, link.utilisation);
  return stretch;
}

/// Of an iteration, or of a microbatch in the long run.
Seconds evaluated_time(const PlanRequest& request, const Plan& plan) {
  const ScheduleProgram program = require_schedule(request.graph, request.platform, plan);
  if (is_asynchronous(plan.schedule)) {
    const Report report = evaluate_until_converged(request.graph, request.platform, program);
    return *report.period * stretch_of(report);
  }
  const std::int64_t part = evaluated_microbatches(program);
  const bool is_whole = part == plan.microbatches;
  const Report report = evaluate_program(request.graph, request.platform,
                                         with_length(request.graph, request.platform, program, {part, 0}));
  const Seconds time = is_whole ? report.iterations.back() : *evaluated_claim(request, plan).iteration_time;
  return time * stretch_of(report);
}

/// With the shares that replicas and pipelines will get; without end if devices that have to talk are not connected, or
/// wait for each other.
Seconds compared_time(const PlannerInfo& planner, const PlanRequest& request, const Planned& planned) {
  if (!check_plan(request.graph, request.platform, planned.plan).empty()) return kNever;
  try {
    if (!has_unequal_devices(request.platform)) return evaluated_time(request, planned.plan);
    return evaluated_time(request, finished_plan(planner, request, planned).plan);
  } catch (const Deadlock&) {
    return kNever;
  }
}

}  // namespace

Seconds FastestPlan::time() {
  if (!time_) time_ = compared_time(planner_, request_, *best_);
  return *time_;
}

bool FastestPlan::add(Planned planned) {
  if (!best_) {
    best_ = std::move(planned);
    return true;
  }
  if (planned.plan == best_->plan) return false;
  const Seconds other = compared_time(planner_, request_, planned);
  if (other >= time()) return false;
  best_ = std::move(planned);
  time_ = other;
  return true;
}

}  // namespace stagecraft
