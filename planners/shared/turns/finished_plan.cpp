#include "planners/shared/turns/finished_plan.hpp"

#include "planners/shared/turns/level_shares.hpp"
#include "planners/shared/turns/turn_order.hpp"

#include <utility>

namespace stagecraft {

Planned finished_plan(const PlannerInfo& planner, const PlanRequest& request, Planned planned) {
  if (planner.orders_turns) return planned;
  return with_level_shares(request, with_ordered_turns(request, std::move(planned)));
}

}  // namespace stagecraft
