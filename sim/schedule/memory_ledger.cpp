#include "sim/schedule/memory_ledger.hpp"

#include "sim/schedule/kept_plan.hpp"

#include <algorithm>

namespace stagecraft {

bool moves_versions(const Stage& stage, std::int64_t versions) {
  return stage.swap_weight_versions && versions > kVersionsOnDevice;
}

StaticMemory static_memory(const Training& training, Bytes parameters, std::int64_t weight_versions,
                           Bytes boundary_bytes, const Share& share) {
  StaticMemory memory;
  memory.weights = parameters * weight_versions;
  memory.gradients = parameters * training.gradient_copies;
  memory.optimizer = parameters * training.optimizer_copies;
  memory.buffers = share * boundary_bytes * training.boundary_buffers;
  return memory;
}

StaticMemory static_memory(const LayerGraph& graph, const KeptPlan& kept,
                           const std::vector<std::int64_t>& weight_versions, ReplicaId id) {
  const Replica& replica = kept.replicas[id];
  const Bytes parameters =
      (*kept.work)[id].programs.parameters() - held_elsewhere(graph, kept.plan, kept.replicas, weight_versions, id);
  const Bytes crossing = boundary_bytes(kept.plan, kept.work->boundaries(), replica.stage, replica.device);
  return static_memory(kept.plan.training, parameters, weight_versions[replica.stage.value()], crossing, replica.share);
}

StaticMemory& StaticMemory::operator+=(const StaticMemory& other) {
  weights += other.weights;
  gradients += other.gradients;
  optimizer += other.optimizer;
  buffers += other.buffers;
  return *this;
}

StaticMemory excess(const StaticMemory& of, const StaticMemory& over) {
  const auto more = [](Bytes a, Bytes b) { return std::max(a - b, Bytes(0)); };
  return {more(of.weights, over.weights), more(of.gradients, over.gradients), more(of.optimizer, over.optimizer),
          more(of.buffers, over.buffers)};
}

Bytes boundary_bytes(const Plan& plan, const std::vector<Boundary>& boundaries, StageId stage, DeviceId replica) {
  const auto is_elsewhere = [&](StageId other) {
    return std::ranges::any_of(plan.stages[other.value()].replicas,
                               [&](const Group& group) { return group.lead() != replica; });
  };
  Bytes sum;
  for (const Boundary& boundary : boundaries) {
    if (boundary.from != stage && boundary.to != stage) continue;
    if (is_elsewhere(boundary.from == stage ? boundary.to : boundary.from)) sum += boundary.bytes;
  }
  return sum;
}

Bytes peak_memory(const StaticMemory& held, const StageProgram& work, std::int64_t in_flight) {
  return held.total() + work.stash() * in_flight + std::max(work.workspace, work.backward_workspace());
}

Bytes left_by_input_half(Bytes bytes, const Training& training) {
  return scale_up(bytes, 1.0 - training.input_gradient_release);
}

}  // namespace stagecraft
