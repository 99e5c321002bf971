#include "planners/planner.hpp"
#include "planners/shared/cuts/contiguous_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace stagecraft {

extern const PlannerInfo contiguous_planner;

namespace {

PlanResult plan_contiguous(const PlanRequest& request) {
  if (request.schedule.name != contiguous_planner.default_schedule) {
    throw InputError("planner 'contiguous' plans for the schedule '1f1b-star', not for " + quote(request.schedule.name),
                     {},
                     "its cut is optimal only with the microbatches in flight of that schedule; uniform and gpipe plan "
                     "for every schedule");
  }
  if (request.options.word("cut") == "pipedream") return pipedream_cut_plan(contiguous_planner, request);
  return contiguous_plan(contiguous_planner, request);
}

}  // namespace

const PlannerInfo contiguous_planner{
    .name = "contiguous",
    .summary =
        "contiguous stages that fit in memory and have the least period under 1F1B* (exact for a chain with one "
        "bandwidth)",
    .source = "Stagecraft's own, with the model of MadPipe (Beaumont et al. 2022)",
    .default_schedule = "1f1b-star",
    .options = {{"cut",
                 std::string("best"),
                 "best: the cut with the least period; pipedream: that of PipeDream's program without replicas, which "
                 "knows no transfers in flight, with its least period",
                 {"best", "pipedream"}}},
    .plan = plan_contiguous,
    .cuts_by_memory = true,
    .levels_devices = true,
};

}  // namespace stagecraft
