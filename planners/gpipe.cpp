#include "planners/planner.hpp"
#include "planners/shared/savings/even_pipelines.hpp"
#include "planners/shared/savings/stage_devices.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft {

extern const PlannerInfo gpipe_planner;

namespace {

/// One stage on each device, as in GPipe. Only where that leaves devices idle, because the model has too few layers,
/// are there other shapes.
std::vector<EvenShape> shapes(const PlanRequest& request) {
  std::vector<EvenShape> shapes = even_shapes(gpipe_planner, request);
  const bool is_open = request.options.count("stages") == 0 && request.options.count("replicas") == 0;
  if (is_open && request.platform.devices.size() <= request.graph.layers.size()) shapes.resize(1);
  return shapes;
}

PlanResult plan_gpipe(const PlanRequest& request) {
  return best_even_pipeline(gpipe_planner, request, shapes(request), request.options.word("recompute"));
}

}  // namespace

const PlannerInfo gpipe_planner{
    .name = "gpipe",
    .summary = "one stage on each device, cut so that the slowest stage is as fast as possible; GPipe's schedule",
    .source = "Huang et al., GPipe, NeurIPS 2019; the cut is the exact optimum",
    .default_schedule = "gpipe",
    .options = {stages_option("devices, schedule and layers"),
                {"replicas",
                 std::int64_t{0},
                 "replicas of every stage, one device each; 0: one, or the best if the model has fewer layers than "
                 "there are devices",
                 {},
                 0},
                {"recompute",
                 std::string("none"),
                 "what the backward recomputes: what the memory policy asks for, or the whole stage as in GPipe's "
                 "library",
                 {"none", "stage"}}},
    .plan = plan_gpipe,
    .saves_memory = true,
};

}  // namespace stagecraft
