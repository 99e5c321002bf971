#include "sim/schedule/ranks.hpp"

#include <algorithm>
#include <set>

namespace stagecraft {

std::int64_t alternating_replicas(const Stage& stage) {
  return stage.replication == Replication::RoundRobin ? static_cast<std::int64_t>(stage.devices.size()) : 1;
}

std::int64_t warmup(const Plan& plan, StageId stage, std::int64_t eagerness) {
  // A stage must not wait for more forwards than any stage before it gives out ahead of its own first backward: a cap
  // is passed on downstream, past stages with more replicas too.
  const std::uint32_t pipeline = plan.stages[stage.value()].pipeline;
  std::int64_t upstream = -1;  // microbatches that all stages before have forwarded by the first backward
  std::int64_t ranks = 0;      // from the stage at hand on
  for (const Stage& other : plan.stages) {
    if (other.pipeline == pipeline) ranks += alternating_replicas(other);
  }
  std::int64_t count = 0;
  for (std::size_t i = 0; i <= stage.value(); ++i) {
    const Stage& own = plan.stages[i];
    if (own.pipeline != pipeline) continue;
    const std::int64_t replicas = alternating_replicas(own);
    count = (ranks - 1) / replicas * eagerness;
    if (own.in_flight) count = std::min(count, *own.in_flight - 1);
    if (upstream >= 0) count = std::min(count, (upstream - 1) / replicas);
    const std::int64_t given_out = (count + 1) * replicas;
    upstream = upstream < 0 ? given_out : std::min(upstream, given_out);
    ranks -= replicas;
  }
  return count;
}

std::int64_t microbatches_of(const Stage& stage, std::int64_t replica, std::int64_t microbatches) {
  const std::int64_t replicas = alternating_replicas(stage);
  if (replicas == 1) return microbatches;
  return (microbatches - replica + replicas - 1) / replicas;
}

bool shares_devices(const Plan& plan) {
  std::set<DeviceId> seen;
  for (const Stage& stage : plan.stages) {
    for (DeviceId device : stage.devices) {
      if (!seen.insert(device).second) return true;
    }
  }
  return false;
}

}  // namespace stagecraft
