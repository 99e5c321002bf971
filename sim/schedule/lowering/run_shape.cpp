#include "sim/schedule/lowering/run_shape.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/lowering/group_links.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "sim/schedule/tied_stages.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {

RunShape::RunShape(const LayerGraph& graph, const Platform& platform, std::shared_ptr<const KeptPlan> kept,
                   const std::vector<std::int64_t>& weight_versions, NetworkModel network, bool is_chain)
    : graph_(graph),
      platform_(platform),
      kept_(std::move(kept)),
      plan_(kept_->plan),
      replicas_(kept_->replicas),
      network_(network),
      chain_(is_chain ? chain_boundaries(graph, plan_) : std::vector<Boundary>()),
      boundaries_(is_chain ? chain_ : kept_->work->boundaries()) {
  if (is_analytic() && replicas_.group_size() > 1) {
    throw InputError("the network 'analytic' has no groups of devices", {}, "use the network 'platform'");
  }
  make_workers(weight_versions);
  for (DeviceId device : replicas_.devices()) {
    const std::span<const ReplicaId> on = replicas_.on(device);
    on_device_.emplace_back(on.begin(), on.end());
  }
  for (std::size_t boundary = 0; boundary < boundaries_.size(); ++boundary) {
    connect(boundary, false);
    connect(boundary, true);
  }
  count_inputs();
  if (replicas_.group_size() == 1) return;
  const IndexVector<ReplicaId, char> share = groups_that_share_links(*this, weight_versions);
  for (const ReplicaId id : replicas_.all()) workers_[id].shares_links = share[id] != 0;
}

void RunShape::make_workers(const std::vector<std::int64_t>& weight_versions) {
  kept_->work->require_times();
  for (const ReplicaId id : replicas_.all()) {
    const DeviceId device = replicas_[id].device;
    const ReplicaWork& work = (*kept_->work)[id];
    const Bytes parameters = work.programs.parameters() - held_elsewhere(graph_, plan_, replicas_, weight_versions, id);
    workers_.push_back(
        {.place = platform_.place(device),
         .work = work,
         .parameters = parameters,
         .update = update_time(platform_.kind(device), plan_.training, held_parameters(*kept_, id, parameters)),
         .count = replicas_.count(id, plan_.microbatches)});
    device_index_.push_back(device_index(device));
  }
}

void RunShape::connect(std::size_t boundary, bool gradient) {
  const Boundary& ends = boundaries_[boundary];
  const StageId from = gradient ? ends.to : ends.from;
  const StageId to = gradient ? ends.from : ends.to;
  for (ReplicaId sender : replicas_.of(from)) {
    const Share& own = replicas_[sender].share;
    std::vector<Target>& targets = gradient ? workers_[sender].backward_targets : workers_[sender].forward_targets;
    if (replicas_.alternate(to)) {  // whole microbatches: one receiver gets all of the sender's
      targets.push_back({boundary, to, ReplicaId::none(), flow_share(own, Share{}) * ends.bytes});
      continue;
    }
    for (ReplicaId receiver : overlapping(replicas_, to, own)) {
      const Share share = flow_share(own, replicas_[receiver].share);
      targets.push_back({boundary, to, receiver, share * ends.bytes});
    }
  }
}

/// Counts how many operations a forward and a backward of each replica wait for. On the analytic network each boundary
/// contributes one channel operation, however many replicas send. On the platform's network each sender of a microbatch
/// contributes one: all replicas of a stage that divides microbatches, or one replica of a stage whose replicas
/// alternate. Alternating replicas all have the same targets, so only the first one is counted.
void RunShape::count_inputs() {
  if (is_analytic()) {
    for (const Boundary& boundary : boundaries_) {
      for (ReplicaId id : replicas_.of(boundary.to)) ++workers_[id].forward_inputs;
      for (ReplicaId id : replicas_.of(boundary.from)) ++workers_[id].backward_inputs;
    }
    return;
  }
  std::vector<std::uint32_t> forward(plan_.stages.size());  // by stage: the inputs of each of its replicas
  std::vector<std::uint32_t> backward(plan_.stages.size());
  for (ReplicaId sender : replicas_.all()) {
    const StageId stage = replicas_[sender].stage;
    if (replicas_.alternate(stage) && sender != replicas_.of(stage).front()) continue;
    for (const auto& [_, to, receiver, bytes] : workers_[sender].forward_targets) {
      ++(receiver.is_none() ? forward[to.value()] : workers_[receiver].forward_inputs);
    }
    for (const auto& [_, to, receiver, bytes] : workers_[sender].backward_targets) {
      ++(receiver.is_none() ? backward[to.value()] : workers_[receiver].backward_inputs);
    }
  }
  const auto members = static_cast<std::uint32_t>(replicas_.group_size());  // each sends a part
  for (ReplicaId id : replicas_.all()) {
    workers_[id].forward_inputs = members * (workers_[id].forward_inputs + forward[replicas_[id].stage.value()]);
    workers_[id].backward_inputs = members * (workers_[id].backward_inputs + backward[replicas_[id].stage.value()]);
  }
}

std::size_t RunShape::device_index(DeviceId device) const {
  const std::vector<DeviceId>& devices = replicas_.devices();
  const auto found = std::ranges::lower_bound(devices, device);
  STAGECRAFT_CHECK(found != devices.end() && *found == device, "a schedule orders the plan's devices");
  return static_cast<std::size_t>(found - devices.begin());
}

std::size_t RunShape::flows_over(std::size_t boundary) const {
  if (is_analytic()) return 1;
  std::size_t flows = 0;
  const StageId from = boundaries_[boundary].from;
  const bool alternates = replicas_.alternate(from);
  for (ReplicaId sender : replicas_.of(from)) {
    if (alternates && sender != replicas_.of(from).front()) continue;
    for (const Target& target : workers_[sender].forward_targets) {
      if (target.boundary != boundary) continue;
      const bool takes_turns = alternates || target.replica.is_none();
      if (takes_turns || replicas_[target.replica].device != replicas_[sender].device) ++flows;
    }
  }
  return flows * replicas_.group_size();
}

}  // namespace stagecraft
