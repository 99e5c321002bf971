#include "experiments/run/plan_ladder.hpp"

#include "sim/analytic/class_bound.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/kept_plan.hpp"

#include <algorithm>

namespace stagecraft {

std::optional<PlanLadder> plan_ladder(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                                      Seconds time, const std::function<std::optional<LowerBound>()>& own,
                                      bool shares_links) {
  const Plan& plan = program.kept->plan;
  if (graph.layers.size() * platform.devices.size() > kMostLayersOnDevices) return std::nullopt;
  if (!program.synchronous || !is_in_class(graph, plan)) return std::nullopt;
  const std::optional<LowerBound> bound = own();
  if (!bound) return std::nullopt;
  const std::optional<ClassBound> all =
      class_bound(graph, platform, plan.training, plan.microbatches,
                  {.shares_links = shares_links, .splits_backwards = splits_backwards(program)});
  if (!all) return std::nullopt;
  LowerBound any_order = *bound;
  any_order.time = std::max(any_order.time, all->time);
  return PlanLadder{time, any_order, all->time, all->work};
}

}  // namespace stagecraft
