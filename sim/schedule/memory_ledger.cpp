#include "sim/schedule/memory_ledger.hpp"

#include "sim/schedule/gather_units.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>

namespace stagecraft {

bool moves_versions(const Stage& stage, std::int64_t versions) {
  return stage.swap_weight_versions && versions > kVersionsOnDevice;
}

Bytes divided(const Training& training, const HeldParameters& held) {
  const std::int64_t size = weight_bytes(training);
  const auto part = [&](Bytes bytes, std::int64_t of) {
    return of == 1 ? bytes : share_up(bytes, 1, of * size) * size;
  };
  return part(held.bytes - held.experts, held.replicas) + part(held.experts, held.expert_replicas);
}

Seconds update_time(const DeviceKind& kind, const Training& training, const HeldParameters& held) {
  const Seconds overhead = held.begins_update ? kind.update_overhead : Seconds(0);
  if (!kind.update_bandwidth) return overhead;
  const Bytes changed = training.zero > 0 ? divided(training, held) : held.bytes;
  return overhead + changed * (1 + training.gradient_copies + training.optimizer_copies) / *kind.update_bandwidth;
}

StaticMemory kept_state(const Training& training, const HeldParameters& held) {
  const Bytes part = divided(training, held);
  const auto kept = [&](std::int64_t from) { return training.zero >= from ? part : held.bytes; };
  StaticMemory memory;
  memory.weights = kept(3) * held.versions;
  memory.gradients = kept(2) * training.gradient_copies;
  memory.optimizer = kept(1) * training.optimizer_copies;
  return memory;
}

double state_copies(const Training& training, std::int64_t versions, std::int64_t replicas) {
  const auto kept = [&](std::int64_t from, std::int64_t copies) {
    return static_cast<double>(copies) / static_cast<double>(training.zero >= from ? replicas : 1);
  };
  return kept(3, versions) + kept(2, training.gradient_copies) + kept(1, training.optimizer_copies);
}

StaticMemory static_memory(const Training& training, const HeldParameters& held, Bytes boundary_bytes,
                           const Share& share) {
  StaticMemory memory = kept_state(training, held);
  memory.buffers = share * boundary_bytes * training.boundary_buffers;
  return memory;
}

namespace {

bool begins_update(const KeptPlan& kept, ReplicaId id) {
  return kept.replicas.on(kept.replicas[id].device).front() == id ||
         !require_family(kept.plan.schedule.name).synchronous;
}

}  // namespace

HeldParameters held_parameters(const KeptPlan& kept, ReplicaId id, Bytes bytes, std::int64_t versions) {
  HeldParameters held{.bytes = bytes, .versions = versions, .begins_update = begins_update(kept, id)};
  if (kept.plan.training.zero == 0) return held;
  const RingBuckets& rings = kept.work->rings();
  const std::size_t ring = rings.rings_of[kept.replicas[id].stage.value()].front();
  const std::int64_t members = std::ssize(rings.rings[ring].members);
  held.replicas = members * kept.work->copies().plain;
  held.experts = std::min((*kept.work)[id].programs.experts(), bytes);  // another pipeline may hold some here
  held.expert_replicas = members * kept.work->copies().experts;
  return held;
}

namespace {

/// Two of the largest units, at most all of them: one is exchanged, and a computation reads or fills the other.
template <class Bucket>
Bytes twice(Bytes largest, const std::vector<Bucket>& all) {
  Bytes sum;
  for (const Bucket& bucket : all) sum += bucket.bytes;
  return std::min(largest * 2, sum);
}

/// The most weights that are gathered for a unit of a pass.
Bytes most_gathered(const std::vector<WeightBucket>& weights, const ReplicaWork& work) {
  Bytes most = std::ranges::max(sizes_of(weights));
  for (const std::vector<BackwardStep>& steps : work.in_buckets) {
    for (const GatherUnit& unit : gather_units(steps, weights.size())) {
      Bytes sum;
      for (std::size_t at = unit.first_bucket; at < unit.end_bucket; ++at) sum += weights[at].bytes;
      most = std::max(most, sum);
    }
  }
  return most;
}

/// What is whole while replicas exchange it.
Bytes exchange_buffers(const KeptPlan& kept, ReplicaId id) {
  const std::int64_t zero = kept.plan.training.zero;
  const RingBuckets& rings = kept.work->rings();
  const RingBuckets::Ring& ring = rings.rings[rings.rings_of[kept.replicas[id].stage.value()].front()];
  if (zero < 2 || ring.weights.empty()) return {};
  Bytes sum;
  if (!ring.buckets.empty()) sum += twice(std::ranges::max(sizes_of(ring.buckets)), ring.buckets);
  if (zero >= kMostDivided) sum += twice(most_gathered(ring.weights, (*kept.work)[id]), ring.weights);
  return sum;
}

}  // namespace

StaticMemory static_memory(const KeptPlan& kept, ReplicaId id, const HeldParameters& held) {
  const Replica& replica = kept.replicas[id];
  const Bytes crossing = boundary_bytes(kept.plan, kept.work->boundaries(), replica.stage, replica.device);
  StaticMemory memory = static_memory(kept.plan.training, held, crossing, replica.share);
  memory.buffers += exchange_buffers(kept, id);
  return memory;
}

StaticMemory static_memory(const LayerGraph& graph, const KeptPlan& kept,
                           const std::vector<std::int64_t>& weight_versions, ReplicaId id) {
  const Bytes parameters =
      (*kept.work)[id].programs.parameters() - held_elsewhere(graph, kept.plan, kept.replicas, weight_versions, id);
  const std::int64_t versions = weight_versions[kept.replicas[id].stage.value()];
  return static_memory(kept, id, held_parameters(kept, id, parameters, versions));
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
