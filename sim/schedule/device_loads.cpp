#include "sim/schedule/device_loads.hpp"

#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/replica_programs.hpp"

namespace stagecraft {
namespace {

/// How often something happens: in an iteration, or per microbatch of an asynchronous run.
struct Counts {
  double microbatches = 1.0;
  double updates = 1.0;
};

Counts counts_of(const ScheduleProgram& program, ReplicaId id) {
  const KeptPlan& kept = *program.kept;
  if (program.synchronous) return {static_cast<double>(kept.replicas.count(id, kept.plan.microbatches)), 1.0};
  const double each = 1.0 / static_cast<double>(kept.replicas[id].turns);
  return {each, each / static_cast<double>(kept.plan.rounds_per_update)};
}

}  // namespace

std::vector<std::pair<DeviceId, Seconds>> device_loads(const LayerGraph& graph, const Platform& platform,
                                                       const ScheduleProgram& program) {
  const KeptPlan& kept = *program.kept;
  std::vector<std::pair<DeviceId, Seconds>> loads;
  for (DeviceId device : kept.replicas.devices()) {
    Seconds load;
    for (ReplicaId id : kept.replicas.on(device)) {
      const Replica& replica = kept.replicas[id];
      ReplicaPrograms programs(graph, platform, kept.plan.stages[replica.stage.value()]);
      const StageProgram work = programs.of(device, replica.share);
      const Counts counts = counts_of(program, id);
      load += (work.forward + work.backward_total()) * counts.microbatches;
      load += update_time(platform.kind(device), kept.plan.training, work.parameters) * counts.updates;
    }
    loads.emplace_back(device, load);
  }
  return loads;
}

}  // namespace stagecraft
