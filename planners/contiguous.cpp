#include "planners/planner.hpp"
#include "planners/shared/contiguous_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace stagecraft {

extern const PlannerInfo contiguous_planner;

namespace {

PlanResult plan_contiguous(const PlanRequest& request) {
  if (request.schedule.name != contiguous_planner.default_schedule) {
    throw InputError("planner 'contiguous' plans for the schedule '1f1b-star', not for " + quote(request.schedule.name),
                     {}, "its cut is the best only with the counts in flight of that schedule");
  }
  return contiguous_plan(contiguous_planner, request);
}

}  // namespace

const PlannerInfo contiguous_planner{
    .name = "contiguous",
    .summary = "the contiguous stages with the least period of 1F1B* that fit the memory, exactly",
    .source = "Stagecraft's own, on the model of MadPipe (Beaumont et al. 2022)",
    .default_schedule = "1f1b-star",
    .options = {},
    .plan = plan_contiguous,
};

}  // namespace stagecraft
