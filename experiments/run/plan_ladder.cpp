#include "experiments/run/plan_ladder.hpp"

#include "sim/analytic/class_bound.hpp"
#include "sim/analytic/lower_bound.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/kept_plan.hpp"

#include <algorithm>

namespace stagecraft {

std::optional<PlanLadder> plan_ladder(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                                      Seconds evaluated) {
  const Plan& plan = program.kept->plan;
  if (graph.layers.size() * platform.devices.size() > kMostLayersOnDevices) return std::nullopt;
  if (!is_in_class(graph, plan)) return std::nullopt;
  const std::optional<LowerBound> own = lower_bound(graph, platform, program, {.lowering = {}, .shares_links = false});
  const std::optional<ClassBound> all =
      class_bound(graph, platform, plan.training, plan.microbatches,
                  {.shares_links = false, .splits_backwards = splits_backwards(program)});
  if (!own || !all) return std::nullopt;
  // What no plan of the class beats this one does not, either.
  return PlanLadder{evaluated, std::max(own->time, all->time), all->time, all->work};
}

}  // namespace stagecraft
