#include "sim/schedule/shared/input_board.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

namespace stagecraft {

InputBoard::InputBoard(const KeptPlan& kept, const PipelineWork& work, std::int64_t microbatches, InputRule rule)
    : replicas_(kept.replicas),
      work_(work),
      connections_(work.connections),
      from_(kept.plan.stages.size()),
      to_(kept.plan.stages.size()) {
  for (std::size_t i = 0; i < work.crossings.size(); ++i) {
    if (rule == InputRule::Tensors && !work.crossings[i].has_tensors) continue;
    from_[work.crossings[i].from.value()].push_back(i);
    to_[work.crossings[i].to.value()].push_back(i);
  }
  for (ReplicaId id : replicas_.all()) {
    const std::size_t stage = replicas_[id].stage.value();
    Inputs forward;
    Inputs backward;
    for (const std::size_t i : to_[stage]) forward.missing += senders(work.crossings[i].from, id);
    for (const std::size_t i : from_[stage]) backward.missing += senders(work.crossings[i].to, id);
    counts_.push_back(replicas_.count(id, microbatches));
    const auto count = static_cast<std::size_t>(counts_[id]);
    forwards_.push_back(std::vector<Inputs>(count, forward));
    backwards_.push_back(std::vector<Inputs>(count, backward));
  }
}

/// How many replicas of the stage send something for each microbatch of the replica.
std::uint32_t InputBoard::senders(StageId stage, ReplicaId to) const {
  if (replicas_.alternate(stage)) return 1;
  const auto sends = [&](ReplicaId id) { return exchange(id, to); };
  return static_cast<std::uint32_t>(std::ranges::count_if(replicas_.of(stage), sends));
}

/// Whether parts of microbatches overlap that the two replicas hold.
bool InputBoard::exchange(ReplicaId a, ReplicaId b) const {
  return !flow_share(replicas_[a].share, replicas_[b].share).is_empty();
}

Seconds InputBoard::arrival(const LocalWork& of) const {
  const Inputs& known = (of.backward ? backwards_ : forwards_)[of.replica][static_cast<std::size_t>(of.local)];
  return known.missing > 0 ? kNever : known.last;
}

const std::vector<LocalWork>& InputBoard::end(const LocalWork& of, Seconds at) {
  completed_.clear();
  const StageId stage = replicas_[of.replica].stage;
  const std::uint32_t microbatch = replicas_.microbatch(of.replica, of.local);
  for (const std::size_t i : (of.backward ? to_ : from_)[stage.value()]) {
    const Crossing& crossing = work_.crossings[i];
    const StageId receiver = of.backward ? crossing.from : crossing.to;
    for (ReplicaId other : replicas_.runners(receiver, microbatch)) {
      if (!exchange(of.replica, other)) continue;
      const TensorWay& way = work_.way(replicas_, crossing, of.replica, other);
      const std::int64_t local = replicas_.local(other, microbatch);
      Inputs& known = inputs(other, of.backward)[static_cast<std::size_t>(local)];
      known.last = std::max(known.last, connections_.arrival(way, at));
      if (--known.missing == 0) completed_.push_back({other, local, of.backward});
    }
  }
  return completed_;
}

DeviceRow device_row(const Replicas& replicas) {
  DeviceRow row;
  std::map<DeviceId, std::size_t> positions;
  for (ReplicaId id : replicas.all()) {
    const auto [found, is_new] = positions.try_emplace(replicas[id].device, row.devices.size());
    if (is_new) row.devices.push_back(replicas[id].device);
    row.position.push_back(found->second);
  }
  return row;
}

}  // namespace stagecraft
