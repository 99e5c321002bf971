#include "planners/shared/costs/exchange_times.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/ring_time.hpp"
#include "planners/shared/costs/stage_exchange.hpp"
#include "sim/model/reduced_gradients.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/exchange_rings.hpp"
#include "sim/schedule/tied_stages.hpp"

#include <algorithm>

namespace stagecraft {

std::vector<ExchangeTimes> exchange_times(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  const Replicas replicas(plan);
  const std::vector<TiedRing> tied = tied_rings(graph, plan, replicas);
  const std::vector<std::size_t> elsewhere = groups_of(tied);
  std::vector<ExchangeTimes> times;
  for (const Stage& stage : plan.stages) {
    times.push_back({.own = ring_beyond_backward(graph, platform, plan.training, stage, elsewhere),
                     .gathered = gather_beyond_forward(graph, platform, plan.training, stage),
                     .each = exchanges_each_time(graph, platform, plan.training, stage, elsewhere)});
  }
  const bool all_wait = !is_asynchronous(plan.schedule);
  for (const TiedRing& ring : tied) {
    if (ring.members.size() == 1) continue;
    const Seconds time =
        RingTime(platform, devices_of(replicas, ring.members))(reduced_gradients(plan.training, ring.bytes));
    for (const StageId stage : ring.stages) {
      ExchangeTimes& own = times[stage.value()];
      if (all_wait || stage == ring.stages.front()) own.tied = std::max(own.tied, time);
      if (all_wait) continue;
      const std::int64_t updates = ring.apart / (replicas[replicas.of(stage).front()].turns * plan.rounds_per_update);
      own.updates_apart = std::max(own.updates_apart, updates);
      own.tied_bytes += ring.bytes;
    }
  }
  return times;
}

}  // namespace stagecraft
