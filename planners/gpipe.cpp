#include "planners/planner.hpp"
#include "planners/shared/savings/even_pipelines.hpp"
#include "planners/shared/savings/stage_devices.hpp"

namespace stagecraft {

extern const PlannerInfo gpipe_planner;

namespace {

PlanResult plan_gpipe(const PlanRequest& request) {
  return best_even_pipeline(gpipe_planner, request, even_shapes(gpipe_planner, request),
                            request.options.word("recompute"));
}

}  // namespace

const PlannerInfo gpipe_planner{
    .name = "gpipe",
    .summary =
        "stages with the same number of replicas, cut so that the slowest stage is as fast as possible; GPipe's "
        "schedule",
    .source = "Huang et al., GPipe, NeurIPS 2019; the cut is the exact optimum",
    .default_schedule = "gpipe",
    .options = {stages_option("devices, schedule and layers"),
                replicas_option(),
                {"recompute",
                 std::string("none"),
                 "what the backward recomputes: what the memory policy asks for, or the whole stage as in GPipe's "
                 "library",
                 {"none", "stage"}}},
    .plan = plan_gpipe,
    .saves_memory = true,
};

}  // namespace stagecraft
