#include "sim/schedule/device_loads.hpp"

#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/memory_ledger.hpp"

#include <algorithm>
#include <span>

namespace stagecraft {
namespace {

/// The work of a replica: in an iteration, or per microbatch of an asynchronous run.
Seconds load_of(const ScheduleProgram& program, ReplicaId id, const TurnPrograms& work, Seconds update) {
  const KeptPlan& kept = *program.kept;
  if (program.synchronous) return work.time(kept.replicas.count(id, kept.plan.microbatches)) + update;
  const Replica& own = kept.replicas[id];
  const double each = static_cast<double>(own.taken) / static_cast<double>(own.turns);
  const double updates = 1.0 / static_cast<double>(own.turns) / static_cast<double>(kept.plan.rounds_per_update);
  return (work.forward() + work.mean_backward()) * each + update * updates;
}

/// The overheads of weight halves, of which each device has one for each backward that is split. Only orders that are
/// known all at once have any.
void add_split_backwards(const ScheduleProgram& program, IndexVector<DeviceId, Seconds>& sums) {
  const KeptPlan& kept = *program.kept;
  if (!program.at_once || program.orders_are_given || (program.repeats > 0 && !program.has_halves)) return;
  Seconds most;
  for (const ReplicaId id : kept.replicas.all()) most = std::max(most, (*kept.work)[id].programs.first().overhead);
  if (most <= Seconds(0)) return;
  for (const DeviceOrder& order : program.orders({0, kept.plan.microbatches}).devices) {
    for (const Action& action : order.actions) {
      if (action.kind != ActionKind::BackwardWeight) continue;
      const std::span<const ReplicaId> on = kept.replicas.on(order.device);
      const auto own = std::ranges::find(on, action.stage, [&](ReplicaId id) { return kept.replicas[id].stage; });
      sums[order.device] += (*kept.work)[*own].programs.first().overhead;
    }
  }
}

/// By replica: the parameters that an update of an asynchronous run does not change, in the mean: tied ones, except
/// where their all-reduce is due.
IndexVector<ReplicaId, Bytes> mean_left_alone(const KeptPlan& kept) {
  IndexVector<ReplicaId, Bytes> left_alone(kept.replicas.size());
  for (const TiedRing& ring : kept.work->tied()) {
    if (in_ring(kept.replicas, ring.members.size()) == 1) continue;
    for (const ReplicaId id : ring.members) {
      const std::int64_t updates = ring.apart / (kept.replicas[id].turns * kept.plan.rounds_per_update);
      left_alone[id] += ring.bytes - Bytes(ring.bytes.value() / updates);
    }
  }
  return left_alone;
}

}  // namespace

std::vector<std::pair<DeviceId, Seconds>> device_loads(const LayerGraph& graph, const Platform& platform,
                                                       const ScheduleProgram& program) {
  const KeptPlan& kept = *program.kept;
  kept.work->require_times();
  IndexVector<ReplicaId, Bytes> left_alone(kept.replicas.size());
  if (!program.synchronous) left_alone = mean_left_alone(kept);
  IndexVector<DeviceId, Seconds> sums(platform.devices.size());
  for (const ReplicaId id : kept.replicas.all()) {
    const DeviceId device = kept.replicas[id].device;
    const TurnPrograms& work = (*kept.work)[id].programs;
    const Bytes updated = work.parameters() - left_alone[id] -
                          held_elsewhere(graph, kept.plan, kept.replicas, program.weight_versions, id);
    const Seconds update = update_time(platform.kind(device), kept.plan.training, held_parameters(kept, id, updated));
    sums[device] += load_of(program, id, work, update);
  }
  add_split_backwards(program, sums);
  std::vector<std::pair<DeviceId, Seconds>> loads;
  for (const DeviceId lead : kept.replicas.devices()) {
    for (const DeviceId member : kept.replicas.members(kept.replicas.on(lead).front())) {
      loads.emplace_back(member, sums[lead]);
    }
  }
  std::ranges::sort(loads);
  return loads;
}

}  // namespace stagecraft
