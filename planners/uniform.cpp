#include "planners/planner.hpp"
#include "planners/shared/savings/even_pipelines.hpp"
#include "planners/shared/savings/stage_devices.hpp"

namespace stagecraft {

extern const PlannerInfo uniform_planner;

namespace {

PlanResult plan_uniform(const PlanRequest& request) {
  return best_even_pipeline(uniform_planner, request, even_shapes(uniform_planner, request),
                            request.options.word("recompute"));
}

}  // namespace

const PlannerInfo uniform_planner{
    .name = "uniform",
    .summary = "contiguous stages of about equal compute time, all with the same number of replicas",
    .source = "common practice; the cut with the least largest stage time (exact)",
    .default_schedule = "1f1b",
    .options = {stages_option("devices, schedule and layers"),
                replicas_option(),
                {"recompute",
                 std::string("none"),
                 "what the backward recomputes: what the memory policy asks for, each layer by itself, or the whole "
                 "stage",
                 {"none", "layer", "stage"}},
                {"shift", true,
                 "whether a layer may move to another stage where devices have several and that is faster"}},
    .plan = plan_uniform,
    .saves_memory = true,
};

}  // namespace stagecraft
