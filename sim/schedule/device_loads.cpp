#include "sim/schedule/device_loads.hpp"

#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/tied_stages.hpp"
#include "sim/schedule/turn_programs.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

/// The work of a replica: in an iteration, or per microbatch of an asynchronous run.
Seconds load_of(const ScheduleProgram& program, ReplicaId id, const TurnPrograms& work, Seconds update) {
  const KeptPlan& kept = *program.kept;
  if (program.synchronous) return work.time(kept.replicas.count(id, kept.plan.microbatches)) + update;
  const double each = 1.0 / static_cast<double>(kept.replicas[id].turns);
  const double updates = each / static_cast<double>(kept.plan.rounds_per_update);
  return (work.forward() + work.mean_backward()) * each + update * updates;
}

/// The parameters that an update of an asynchronous run changes, in the mean: tied ones where their all-reduce is due.
Bytes mean_updated(const KeptPlan& kept, const std::vector<TiedRing>& tied, ReplicaId id, Bytes parameters) {
  for (const TiedRing& ring : tied) {
    if (ring.members.size() == 1 || std::ranges::find(ring.members, id) == ring.members.end()) continue;
    const std::int64_t updates = ring.apart / (kept.replicas[id].turns * kept.plan.rounds_per_update);
    parameters -= ring.bytes - Bytes(ring.bytes.value() / updates);
  }
  return parameters;
}

}  // namespace

std::vector<std::pair<DeviceId, Seconds>> device_loads(const LayerGraph& graph, const Platform& platform,
                                                       const ScheduleProgram& program) {
  const KeptPlan& kept = *program.kept;
  const std::vector<TiedRing> tied = tied_rings(graph, kept.plan, kept.replicas);
  std::vector<std::pair<DeviceId, Seconds>> loads;
  for (DeviceId device : kept.replicas.devices()) {
    Seconds load;
    for (ReplicaId id : kept.replicas.on(device)) {
      const Replica& replica = kept.replicas[id];
      ReplicaTurns programs(graph, platform, kept.plan.stages[replica.stage.value()]);
      TurnPrograms work = programs.of(device, replica.share);
      work.drop_parameters(held_elsewhere(graph, kept, program.weight_versions, id));
      const Bytes updated = program.synchronous ? work.parameters() : mean_updated(kept, tied, id, work.parameters());
      load += load_of(program, id, work, update_time(platform.kind(device), kept.plan.training, updated));
    }
    loads.emplace_back(device, load);
  }
  return loads;
}

}  // namespace stagecraft
