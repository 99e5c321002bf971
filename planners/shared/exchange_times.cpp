#include "planners/shared/exchange_times.hpp"

#include "planners/shared/cost_model.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/tied_stages.hpp"

#include <algorithm>

namespace stagecraft {

std::vector<Seconds> exchange_times(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  const Replicas replicas(plan);
  const std::vector<TiedRing> tied = tied_rings(graph, plan, replicas);
  const std::vector<std::size_t> elsewhere = groups_of(tied);
  std::vector<Seconds> times;
  for (const Stage& stage : plan.stages) {
    times.push_back(ring_beyond_backward(graph, platform, plan.training, stage, elsewhere));
  }
  const bool all_wait = !is_asynchronous(plan.schedule);
  for (const TiedRing& ring : tied) {
    std::vector<DeviceId> devices;
    for (const ReplicaId member : ring.members) devices.push_back(replicas[member].device);
    const Seconds time = ring_all_reduce(platform, devices, ring.bytes);
    for (const StageId stage : ring.stages) {
      if (all_wait || stage == ring.stages.front()) times[stage.value()] = std::max(times[stage.value()], time);
    }
  }
  return times;
}

}  // namespace stagecraft
