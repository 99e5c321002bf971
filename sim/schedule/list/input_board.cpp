#include "sim/schedule/list/input_board.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

namespace stagecraft {

InputBoard::InputBoard(const PlacedPlan& placed, const PipelineWork& work, std::int64_t microbatches, InputRule rule)
    : replicas_(&placed.replicas),
      work_(&work),
      connections_(work.connections),
      from_(placed.plan.stages.size()),
      to_(placed.plan.stages.size()) {
  for (std::size_t i = 0; i < work.crossings.size(); ++i) {
    if (rule == InputRule::Tensors && !work.crossings[i].has_tensors) continue;
    from_[work.crossings[i].from.value()].push_back(i);
    to_[work.crossings[i].to.value()].push_back(i);
  }
  for (ReplicaId id : replicas_->all()) {
    const std::size_t stage = placed.replicas[id].stage.value();
    Row row;
    row.count = placed.replicas.count(id, microbatches);
    for (const std::size_t i : to_[stage]) row.untouched.forward.missing += senders(work.crossings[i].from, id);
    for (const std::size_t i : from_[stage]) row.untouched.backward.missing += senders(work.crossings[i].to, id);
    rows_.push_back(std::move(row));
  }
}

/// How many replicas of the stage send something for each microbatch of the replica.
std::uint32_t InputBoard::senders(StageId stage, ReplicaId to) const {
  if (replicas_->alternate(stage)) return 1;
  const auto sends = [&](ReplicaId id) { return exchange(id, to); };
  return static_cast<std::uint32_t>(std::ranges::count_if(replicas_->of(stage), sends));
}

/// Whether parts of microbatches overlap that the two replicas hold.
bool InputBoard::exchange(ReplicaId a, ReplicaId b) const {
  return !flow_share((*replicas_)[a].share, (*replicas_)[b].share).is_empty();
}

Seconds InputBoard::arrival(const LocalWork& of) const {
  const Row& row = rows_[of.replica];
  const auto at = static_cast<std::size_t>(of.local - row.begin);
  const Microbatch& microbatch = at < row.known.size() ? row.known[at] : row.untouched;
  const Inputs& inputs = of.backward ? microbatch.backward : microbatch.forward;
  return inputs.missing > 0 ? kNever : inputs.last;
}

InputBoard::Inputs& InputBoard::inputs(const LocalWork& of) {
  Row& row = rows_[of.replica];
  const auto at = static_cast<std::size_t>(of.local - row.begin);
  while (row.known.size() <= at) row.known.push_back(row.untouched);
  return of.backward ? row.known[at].backward : row.known[at].forward;
}

const std::vector<LocalWork>& InputBoard::end(const LocalWork& of, Seconds at) {
  completed_.clear();
  const StageId stage = (*replicas_)[of.replica].stage;
  const std::uint32_t microbatch = replicas_->microbatch(of.replica, of.local);
  for (const std::size_t i : (of.backward ? to_ : from_)[stage.value()]) {
    const Crossing& crossing = work_->crossings[i];
    const StageId receiver = of.backward ? crossing.from : crossing.to;
    const std::span<const ReplicaId> others = replicas_->runners(receiver, microbatch);
    for (const ReplicaId other : others) {
      if (others.size() > 1 && !exchange(of.replica, other)) continue;
      const TensorWay& way = work_->way(*replicas_, crossing, of.replica, other);
      const LocalWork next{other, replicas_->local(other, microbatch), of.backward};
      Inputs& known = inputs(next);
      known.last = std::max(known.last, connections_.arrival(way, at));
      if (--known.missing == 0) completed_.push_back(next);
    }
  }
  if (of.backward) {
    Row& row = rows_[of.replica];
    ++row.begin;
    if (!row.known.empty()) row.known.pop_front();
  }
  return completed_;
}

DeviceRow device_row(const Replicas& replicas) {
  DeviceRow row;
  std::map<DeviceId, std::size_t> positions;
  for (ReplicaId id : replicas.all()) {
    const DeviceId device = replicas[id].device;
    const auto [found, is_new] = positions.try_emplace(device, row.devices.size());
    if (is_new) {
      row.devices.push_back(device);
      row.on.push_back(replicas.on(device));
    }
    row.position.push_back(found->second);
  }
  return row;
}

}  // namespace stagecraft
