#include "planners/planner.hpp"
#include "planners/shared/balanced_cuts.hpp"
#include "planners/shared/cost_model.hpp"
#include "planners/shared/stage_devices.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <string>

namespace stagecraft {

extern const PlannerInfo gpipe_planner;

namespace {

PlanResult plan_gpipe(const PlanRequest& request) {
  const std::size_t device_count = request.platform.devices.size();
  const Placement placement = largest_placement(request.schedule, device_count, request.graph.layers.size());
  if (placement.empty()) {
    throw InputError("planner 'gpipe': schedule " + quote(request.schedule.name) +
                     " needs more stages than the model has layers");
  }
  Plan plan = empty_plan(gpipe_planner, request);
  const bool recomputes = request.options.word("recompute") == "stage";
  plan.stages = placed_stages(request.graph, request.platform, placement, device_runs(device_count, 1), recomputes);
  Seconds largest{0};
  Seconds sum{0};
  for (Stage& stage : plan.stages) {
    if (recomputes) stage.memory = {Recompute{stage.layers}};
    const Seconds time = stage_time(request.graph, request.platform, stage).total();
    largest = std::max(largest, time);
    sum += time;
  }
  plan.predicted = claimed_figures(plan, largest_device_time(request.graph, request.platform, plan), 1);
  const double mean = sum.value() / static_cast<double>(plan.stages.size());
  const Detail::Record details = {{"stage_time_s", largest.value()},
                                  {"imbalance", largest.value() > 0.0 ? largest.value() / mean : 1.0}};
  return judged(request, {std::move(plan), details});
}

}  // namespace

const PlannerInfo gpipe_planner{
    .name = "gpipe",
    .summary = "one stage on each device, cut so that the slowest stage is as fast as possible; GPipe's schedule",
    .source = "Huang et al., GPipe, NeurIPS 2019; the cut is the exact optimum",
    .default_schedule = "gpipe",
    .options = {{"recompute",
                 std::string("none"),
                 "what the backward recomputes: nothing, or the whole stage as in GPipe's library",
                 {"none", "stage"}}},
    .plan = plan_gpipe,
};

}  // namespace stagecraft
