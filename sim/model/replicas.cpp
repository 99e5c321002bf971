#include "sim/model/replicas.hpp"

#include "sim/model/plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace stagecraft {

// Who runs what is a question of residues. A stage of pipeline p of P whose r replicas alternate gives its replica i
// the microbatches k with k mod P = p and ⌊k / P⌋ mod r = i, which is k mod (P r) = i P + p. Hence `turn` and `turns`
// say all: a replica runs those k that leave `turn` when divided by `turns`, and counts them by ⌊k / turns⌋. Two
// replicas share a microbatch iff their `turn` is the same modulo the greatest common divisor of their `turns` (Chinese
// remainder theorem).
//
// **Invariant**: within a stage the turns of alternating replicas increase by P, so `runners` finds the one by a
// division; shares of a divided microbatch follow each other without a gap, and none is empty, since a sound plan has
// no more replicas than samples. So `overlapping` searches them by bisection.

namespace {

/// Whole samples, as many for each replica as for the others if they can be divided evenly.
Share share_of(const Stage& stage, std::size_t turn, std::int64_t samples) {
  if (stage.replication == Replication::RoundRobin) return {};
  const auto at = static_cast<std::int64_t>(turn);
  const auto replicas = static_cast<std::int64_t>(stage.replicas.size());
  if (samples % replicas == 0) return {at, at + 1, replicas};
  return {at * samples / replicas, (at + 1) * samples / replicas, samples};
}

}  // namespace

Share flow_share(const Share& from, const Share& to) {
  if (from.of == to.of) {
    const std::int64_t begin = std::max(from.begin, to.begin);
    return {begin, std::max(begin, std::min(from.end, to.end)), from.of};
  }
  Share overlap;  // over a common denominator, so that nothing is rounded
  overlap.of = from.of * to.of;
  overlap.begin = std::max(from.begin * to.of, to.begin * from.of);
  overlap.end = std::max(overlap.begin, std::min(from.end * to.of, to.end * from.of));
  return overlap;
}

std::int64_t samples_of(const Share& share, std::int64_t samples) {
  return samples / share.of * (share.end - share.begin);
}

Share largest_share(const Stage& stage, std::int64_t samples) {
  const auto replicas = static_cast<std::int64_t>(stage.replicas.size());
  const bool is_even = stage.replication == Replication::RoundRobin || samples % replicas == 0;
  return is_even ? share_of(stage, 0, samples) : Share{0, (samples + replicas - 1) / replicas, samples};
}

std::int64_t alternating_replicas(const Stage& stage) {
  return stage.replication == Replication::RoundRobin ? static_cast<std::int64_t>(stage.replicas.size()) : 1;
}

std::int64_t turns_taken(std::int64_t turn, std::int64_t turns, std::int64_t microbatches) {
  return std::max<std::int64_t>(0, (microbatches - turn + turns - 1) / turns);
}

Replicas::Replicas(const Plan& plan) {
  for (const Stage& stage : plan.stages) pipelines_ = std::max<std::int64_t>(pipelines_, stage.pipeline + 1);
  reserve(plan);
  all_runners_.resize(static_cast<std::size_t>(pipelines_));
  for (StageId id : indices<StageId>(plan.stages.size())) {
    const Stage& stage = plan.stages[id.value()];
    const std::int64_t alternating = alternating_replicas(stage);
    first_.push_back(replicas_.size());
    for (std::size_t at = 0; at < stage.replicas.size(); ++at) {
      const std::int64_t turn = alternating == 1 ? 0 : static_cast<std::int64_t>(at);
      ids_.push_back(replicas_.push_back({id, static_cast<std::uint32_t>(turn * pipelines_ + stage.pipeline),
                                          alternating * pipelines_, stage.replicas[at].lead(),
                                          share_of(stage, at, plan.microbatch_size)}));
    }
    all_runners_[stage.pipeline] += alternating > 1 ? 1 : stage.replicas.size();
  }
  first_.push_back(replicas_.size());
  make_rings(plan);
  group_by_device();
}

void Replicas::reserve(const Plan& plan) {
  std::size_t count = 0;
  for (const Stage& stage : plan.stages) count += stage.replicas.size();
  replicas_.reserve(count);
  ids_.reserve(count);
  first_.reserve(plan.stages.size() + 1);
  rings_of_.resize(plan.stages.size());
  rings_.reserve(plan.stages.size());
  devices_.reserve(count);
  device_begin_.reserve(count + 1);
}

/// Layers with the same holders, one stage of each pipeline, have their gradients summed up by the same replicas, so
/// they are one ring. Only the first holder of a layer looks for its ring. So each layer gets into one, and rings come
/// in the order of the stages.
void Replicas::make_rings(const Plan& plan) {
  if (pipelines_ == 1) {
    for (StageId id : indices<StageId>(plan.stages.size())) {
      add_ring(plan, {id});
      rings_.back().layers = plan.stages[id.value()].layers;
    }
    return;
  }
  std::map<LayerId, std::vector<StageId>> holders;
  for (StageId id : indices<StageId>(plan.stages.size())) {
    for (LayerId layer : plan.stages[id.value()].layers) holders[layer].push_back(id);
  }
  std::map<std::vector<StageId>, std::size_t> ring_held_by;
  for (StageId id : indices<StageId>(plan.stages.size())) {
    for (LayerId layer : plan.stages[id.value()].layers) {
      if (holders[layer].front() != id) continue;
      const auto [ring, is_new] = ring_held_by.try_emplace(holders[layer], rings_.size());
      if (is_new) add_ring(plan, holders[layer]);
      rings_[ring->second].layers.push_back(layer);
    }
  }
}

void Replicas::add_ring(const Plan& plan, const std::vector<StageId>& holders) {
  GradientRing& ring = rings_.emplace_back();
  for (StageId holder : holders) {
    const Stage& stage = plan.stages[holder.value()];
    rings_of_[holder.value()].push_back(rings_.size() - 1);
    for (std::size_t i = 0; i < stage.replicas.size(); ++i) {
      ring.members.push_back(of(holder)[stage.ring.empty() ? i : stage.ring[i]]);
    }
  }
}

void Replicas::group_by_device() {
  by_device_ = ids_;
  std::ranges::sort(by_device_, {}, [&](ReplicaId id) { return std::pair(replicas_[id].device, id); });
  for (std::size_t i = 0; i < by_device_.size(); ++i) {
    const DeviceId device = replicas_[by_device_[i]].device;
    if (devices_.empty() || devices_.back() != device) {
      devices_.push_back(device);
      device_begin_.push_back(i);
    }
    replicas_[by_device_[i]].chunk = static_cast<std::uint32_t>(i - device_begin_.back());
  }
  device_begin_.push_back(by_device_.size());
}

std::span<const ReplicaId> Replicas::on(DeviceId device) const {
  const auto found = std::ranges::lower_bound(devices_, device);
  if (found == devices_.end() || *found != device) return {};
  const auto at = static_cast<std::size_t>(found - devices_.begin());
  return std::span(by_device_).subspan(device_begin_[at], device_begin_[at + 1] - device_begin_[at]);
}

bool Replicas::runs(ReplicaId replica, std::uint32_t microbatch) const {
  const Replica& own = replicas_[replica];
  return own.turns == 1 || microbatch % own.turns == own.turn;
}

bool Replicas::share_a_microbatch(ReplicaId a, ReplicaId b) const {
  const std::int64_t common = std::gcd(replicas_[a].turns, replicas_[b].turns);
  return replicas_[a].turn % common == replicas_[b].turn % common;
}

std::int64_t Replicas::count(ReplicaId replica, std::int64_t microbatches) const {
  const Replica& own = replicas_[replica];
  return own.turns == 1 ? microbatches : turns_taken(own.turn, own.turns, microbatches);
}

std::int64_t Replicas::round() const {
  std::int64_t round = 1;
  for (const Replica& replica : replicas_) round = std::lcm(round, replica.turns);
  return round;
}

std::span<const ReplicaId> overlapping(const Replicas& replicas, StageId stage, const Share& share) {
  const std::span<const ReplicaId> all = replicas.of(stage);
  const auto begins_after = [&](ReplicaId id) {
    return replicas[id].share.begin * share.of >= share.end * replicas[id].share.of;
  };
  const auto ends_before = [&](ReplicaId id) {
    return replicas[id].share.end * share.of <= share.begin * replicas[id].share.of;
  };
  const auto begin = std::ranges::partition_point(all, ends_before);
  const auto end = std::ranges::partition_point(all, [&](ReplicaId id) { return !begins_after(id); });
  return {begin, end};
}

}  // namespace stagecraft
