#include "sim/model/replicas.hpp"

#include "sim/model/plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace stagecraft {

// Who runs what follows from two rotations, one inside the other: the plan's microbatches go to its pipelines in turn,
// and those of a pipeline, counted by themselves, to the replicas of a stage in turn. To count and to find microbatches
// of a replica is to go through both.
//
// **Invariant**: shares of a divided microbatch follow each other without a gap, and none is empty, since a sound plan
// has enough samples. So `overlapping` searches them by bisection.

namespace {

/// The share of the replica, as a part of the sum of all.
Share proportion(const Stage& stage, std::size_t turn) {
  const auto at = static_cast<std::int64_t>(turn);
  if (stage.shares.empty()) return {at, at + 1, std::ssize(stage.replicas)};
  const auto own = stage.shares.begin() + at;
  const std::int64_t before = std::accumulate(stage.shares.begin(), own, std::int64_t{0});
  return {before, before + *own, std::accumulate(own, stage.shares.end(), before)};
}

/// Whole samples, in the proportions of the shares as nearly as can be.
Share share_of(const Stage& stage, std::size_t turn, std::int64_t samples) {
  if (stage.replication == Replication::RoundRobin) return {};
  const Share whole = proportion(stage, turn);
  if (samples % whole.of == 0) return whole;
  return {whole.begin * samples / whole.of, whole.end * samples / whole.of, samples};
}

Rotation pipelines_of(const Plan& plan) {
  if (!plan.pipeline_shares.empty()) return Rotation(plan.pipeline_shares);
  std::uint32_t last = 0;
  for (const Stage& stage : plan.stages) last = std::max(last, stage.pipeline);
  return Rotation(std::int64_t{last} + 1);
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
  const std::int64_t replicas = std::ssize(stage.replicas);
  if (!stage.shares.empty()) {
    Share largest = share_of(stage, 0, samples);
    for (std::size_t i = 1; i < stage.replicas.size(); ++i) {
      const Share own = share_of(stage, i, samples);
      if (own.end - own.begin > largest.end - largest.begin) largest = own;
    }
    return largest;
  }
  const bool is_even = stage.replication == Replication::RoundRobin || samples % replicas == 0;
  return is_even ? share_of(stage, 0, samples) : Share{0, (samples + replicas - 1) / replicas, samples};
}

std::int64_t least_samples(const Stage& stage) {
  if (stage.replication == Replication::RoundRobin) return 1;
  if (stage.shares.empty()) return std::ssize(stage.replicas);
  const std::int64_t least = *std::ranges::min_element(stage.shares);
  return (std::accumulate(stage.shares.begin(), stage.shares.end(), std::int64_t{0}) + least - 1) / least;
}

double parts_of(const Stage& stage) {
  if (stage.replication == Replication::RoundRobin) return 1.0;
  if (stage.shares.empty()) return static_cast<double>(stage.replicas.size());
  const std::int64_t all = std::accumulate(stage.shares.begin(), stage.shares.end(), std::int64_t{0});
  return static_cast<double>(all) / static_cast<double>(*std::ranges::max_element(stage.shares));
}

bool divides_microbatches(const Stage& stage) {
  return stage.replication == Replication::Split && stage.replicas.size() > 1;
}

std::int64_t alternating_replicas(const Stage& stage) {
  return stage.replication == Replication::RoundRobin ? static_cast<std::int64_t>(stage.replicas.size()) : 1;
}

Rotation turns_of(const Stage& stage) {
  if (stage.replication == Replication::Split) return Rotation(1);
  return stage.shares.empty() ? Rotation(std::ssize(stage.replicas)) : Rotation(stage.shares);
}

bool has_unequal_shares(const Plan& plan) {
  const auto differ = [](const std::vector<std::int64_t>& shares) {
    return std::ranges::adjacent_find(shares, std::ranges::not_equal_to{}) != shares.end();
  };
  return differ(plan.pipeline_shares) || std::ranges::any_of(plan.stages, differ, &Stage::shares);
}

Replicas::Replicas(const Plan& plan) : degrees_(plan.degrees), pipelines_(pipelines_of(plan)) {
  std::size_t count = 0;
  std::uint32_t last = 0;
  for (const Stage& stage : plan.stages) {
    count += stage.replicas.size();
    last = std::max(last, stage.pipeline);
  }
  all_runners_.resize(std::size_t{last} + 1);
  replicas_.reserve(count);
  ids_.reserve(count);
  lanes_.reserve(plan.stages.size());
  first_.reserve(plan.stages.size() + 1);
  for (StageId id : indices<StageId>(plan.stages.size())) {
    const Stage& stage = plan.stages[id.value()];
    first_.push_back(replicas_.size());
    add_replicas(plan, id);
    all_runners_[stage.pipeline] += alternating_replicas(stage) > 1 ? 1 : stage.replicas.size();
  }
  first_.push_back(replicas_.size());
  make_rings(plan);
  group_by_device();
}

/// The turns of a stage's replicas repeat when both the pipelines' round and that of the replicas end.
void Replicas::add_replicas(const Plan& plan, StageId id) {
  const Stage& stage = plan.stages[id.value()];
  const Rotation& lanes = lanes_.emplace_back(turns_of(stage));
  const std::int64_t own = pipelines_.share(stage.pipeline);  // microbatches in a round of the pipelines
  const std::int64_t rounds = lanes.round() / std::gcd(lanes.round(), own);
  for (std::size_t at = 0; at < stage.replicas.size(); ++at) {
    const auto lane = static_cast<std::uint32_t>(lanes.round() == 1 ? 0 : at);
    const std::vector<DeviceId>& devices = stage.replicas[at].devices;
    group_size_ = devices.size();
    members_.insert(members_.end(), devices.begin(), devices.end());
    ids_.push_back(replicas_.push_back({.stage = id,
                                        .pipeline = stage.pipeline,
                                        .lane = lane,
                                        .turns = pipelines_.round() * rounds,
                                        .taken = own * rounds / lanes.round() * lanes.share(lane),
                                        .device = stage.replicas[at].lead(),
                                        .share = share_of(stage, at, plan.microbatch_size)}));
  }
}

/// Layers with the same holders, one stage of each pipeline, have their gradients summed up by the same replicas, so
/// they are one ring. Only the first holder of a layer looks for its ring. So each layer gets into one, and rings come
/// in the order of the stages.
void Replicas::make_rings(const Plan& plan) {
  rings_of_.resize(plan.stages.size());
  rings_.reserve(plan.stages.size());
  if (pipelines() == 1) {
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
  devices_.reserve(ids_.size());
  device_begin_.reserve(ids_.size() + 1);
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
  if (group_size_ == 1) return;
  for (ReplicaId id : all()) {
    for (DeviceId member : members(id)) leads_.emplace_back(member, replicas_[id].device);
  }
  std::ranges::sort(leads_);
}

std::span<const ReplicaId> Replicas::on(DeviceId device) const {
  if (const auto found = std::ranges::lower_bound(leads_, device, {}, &std::pair<DeviceId, DeviceId>::first);
      found != leads_.end() && found->first == device) {
    device = found->second;
  }
  const auto found = std::ranges::lower_bound(devices_, device);
  if (found == devices_.end() || *found != device) return {};
  const auto at = static_cast<std::size_t>(found - devices_.begin());
  return std::span(by_device_).subspan(device_begin_[at], device_begin_[at + 1] - device_begin_[at]);
}

/// By the Chinese remainder theorem, turns a and b of two rounds meet iff they leave the same rest when divided by the
/// greatest common divisor of the rounds.
bool Replicas::share_a_microbatch(ReplicaId a, ReplicaId b) const {
  const Replica& one = replicas_[a];
  const Replica& other = replicas_[b];
  if (one.pipeline != other.pipeline) return false;
  const Rotation& ones = lanes_[one.stage.value()];
  const Rotation& others = lanes_[other.stage.value()];
  const std::int64_t common = std::gcd(ones.round(), others.round());
  for (std::int64_t i = 0; i < ones.share(one.lane); ++i) {
    for (std::int64_t j = 0; j < others.share(other.lane); ++j) {
      if ((ones.turn(one.lane, i) - others.turn(other.lane, j)) % common == 0) return true;
    }
  }
  return false;
}

std::int64_t round_of(const Replicas& replicas) {
  std::int64_t round = 1;
  for (const ReplicaId id : replicas.all()) round = std::lcm(round, replicas[id].turns);
  return round;
}

bool runs(const Replicas& replicas, ReplicaId replica, std::uint32_t microbatch) {
  const std::span<const ReplicaId> those = replicas.runners(replicas[replica].stage, microbatch);
  return std::ranges::find(those, replica) != those.end();
}

std::int64_t most_of(const Replicas& replicas, StageId stage, std::int64_t microbatches) {
  std::int64_t most = 0;
  for (const ReplicaId id : replicas.of(stage)) most = std::max(most, replicas.count(id, microbatches));
  return most;
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
