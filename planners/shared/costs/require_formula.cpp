#include "planners/shared/costs/require_formula.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/schedule/schedule_family.hpp"

namespace stagecraft {

void require_formula(const PlannerInfo& planner, const PlanRequest& request) {
  if (!has_fixed_orders(request.schedule)) return;
  throw InputError(
      "planner " + quote(planner.name) + " has no formula for the time of the schedule " + quote(request.schedule.name),
      {}, "use planner uniform, gpipe or pipedream-sync for it, or a schedule such as 1f1b");
}

}  // namespace stagecraft
