#include "sim/schedule/lowering/joint_passes.hpp"

#include <algorithm>

namespace stagecraft {

JointPasses::JointPasses(const LoweringState& state)
    : state_(state),
      waits_(state.replicas().size()),
      appended_(state.replicas().size()),
      units_(state.lanes.size(), {OpId::none(), OpId::none()}) {}

std::vector<ArrivedPass> JointPasses::arrive(const ArrivedPass& pass, const std::vector<ReplicaId>& replicas) {
  if (std::exchange(waits_[pass.replica], 1) != 0) return {};
  const std::int64_t local = state_.replicas().local(pass.replica, pass.action.microbatch);
  const auto found = arrived_.try_emplace({pass.action.stage, {pass.action.kind, local}}).first;
  found->second.push_back(pass);
  const auto takes_part = [&](ReplicaId replica) { return state_.shape[replica].count > local; };
  if (std::ssize(found->second) < std::ranges::count_if(replicas, takes_part)) return {};
  std::vector<ArrivedPass> together = std::move(found->second);
  arrived_.erase(found);
  std::ranges::sort(together, {}, &ArrivedPass::replica);
  for (const ArrivedPass& each : together) waits_[each.replica] = 0;
  return together;
}

void JointPasses::note_unit(ReplicaId replica, OpId end) {
  std::array<OpId, 2>& units = units_[state_.shape.device_index(replica)];
  units = {units[1], end};
}

std::vector<OpId> JointPasses::before_gather(const std::vector<ArrivedPass>& passes, bool second) const {
  std::vector<OpId> before;
  for (const ArrivedPass& pass : passes) {
    const std::size_t device = state_.shape.device_index(pass.replica);
    const OpId barrier = state_.lanes.barrier(device);
    OpId unit = units_[device][second ? 1 : 0];
    if (!barrier.is_none() && (unit.is_none() || unit < barrier)) unit = barrier;  // the weights before are others
    if (!unit.is_none()) before.push_back(unit);
  }
  return before;
}

OpId JointPasses::oldest() const {
  OpId oldest = OpId::none();
  const auto hold = [&](OpId op) { oldest = std::min(oldest, op); };
  for (const std::array<OpId, 2>& units : units_) std::ranges::for_each(units, hold);
  for (const auto& [number, passes] : arrived_) {
    for (const ArrivedPass& pass : passes) hold(pass.after);
  }
  for (const auto& appended : appended_) {
    if (!appended) continue;
    hold(appended->end);
    std::ranges::for_each(appended->completes, hold);
  }
  return oldest;
}

}  // namespace stagecraft
