#include "planners/pipedream/options.hpp"
#include "planners/planner.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace stagecraft {

extern const PlannerInfo pipedream_planner;
extern const PlannerInfo pipedream_sync_planner;

namespace {

PlanResult plan_flushed(const PlanRequest& request) {
  if (is_asynchronous(request.schedule)) {
    throw InputError("planner 'pipedream-sync' plans for schedules that flush, not for " + quote(request.schedule.name),
                     {}, "use planner 'pipedream' for it");
  }
  PlanResult result = pipedream_planner.plan(request);
  if (auto* planned = std::get_if<Planned>(&result)) planned->plan.planner = pipedream_sync_planner.name;
  return result;
}

}  // namespace

const PlannerInfo pipedream_sync_planner{
    .name = "pipedream-sync",
    .summary = "the stages and replicas of planner pipedream, run with a flush at the end of each iteration",
    .source = "Narayanan et al., PipeDream, SOSP 2019; the flush as in PipeDream-Flush, ICML 2021",
    .default_schedule = "1f1b",
    .options = pipedream::options(),
    .plan = plan_flushed,
    .cuts_by_memory = true,
    .levels_devices = true,
};

}  // namespace stagecraft
