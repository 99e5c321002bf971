#include "planners/shared/costs/require_formula.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/schedule/schedule_family.hpp"

namespace stagecraft {
namespace {

bool is_straight(const PlanRequest& request) {
  return require_family(request.schedule.name).placement == straight_placement;
}

}  // namespace

void require_formula(const PlannerInfo& planner, const PlanRequest& request) {
  if (require_family(request.schedule.name).has_formula()) return;
  const std::string planners = is_straight(request) ? "uniform, gpipe or pipedream-sync" : "uniform or gpipe";
  throw InputError(
      "planner " + quote(planner.name) + " has no formula for the time of the schedule " + quote(request.schedule.name),
      {}, "use planner " + planners + " for it, or a schedule such as 1f1b");
}

void require_straight(const PlannerInfo& planner, const PlanRequest& request) {
  if (is_straight(request)) return;
  throw InputError("planner " + quote(planner.name) + " puts one stage on a device; the schedule " +
                       quote(request.schedule.name) + " places stages in another way",
                   {}, "use planner uniform or gpipe for it, or a schedule such as 1f1b");
}

}  // namespace stagecraft
