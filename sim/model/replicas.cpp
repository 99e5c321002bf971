#include "sim/model/replicas.hpp"

#include "sim/model/plan.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace stagecraft {
namespace {

Share share_of(const Stage& stage, std::size_t turn) {
  if (stage.replication == Replication::RoundRobin) return {};
  const auto at = static_cast<std::int64_t>(turn);
  return {at, at + 1, static_cast<std::int64_t>(stage.replicas.size())};
}

/// For each stage the first stage with the same layers: the stages of one ring, of several pipelines too.
std::vector<std::size_t> first_with_its_layers(const std::vector<Stage>& stages) {
  std::vector<std::size_t> order(stages.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return std::tie(stages[a].layers, a) < std::tie(stages[b].layers, b);
  });
  std::vector<std::size_t> first(stages.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool is_new = i == 0 || stages[order[i]].layers != stages[order[i - 1]].layers;
    first[order[i]] = is_new ? order[i] : first[order[i - 1]];
  }
  return first;
}

}  // namespace

Share flow_share(const Share& from, const Share& to) {
  Share overlap;
  overlap.of = from.of * to.of;
  overlap.begin = std::max(from.begin * to.of, to.begin * from.of);
  overlap.end = std::max(overlap.begin, std::min(from.end * to.of, to.end * from.of));
  return overlap;
}

std::int64_t alternating_replicas(const Stage& stage) {
  return stage.replication == Replication::RoundRobin ? static_cast<std::int64_t>(stage.replicas.size()) : 1;
}

std::int64_t turns_taken(std::int64_t turn, std::int64_t turns, std::int64_t microbatches) {
  return std::max<std::int64_t>(0, (microbatches - turn + turns - 1) / turns);
}

Replicas::Replicas(const Plan& plan) {
  const std::vector<std::size_t> first_alike = first_with_its_layers(plan.stages);
  reserve(plan);
  for (StageId id : indices<StageId>(plan.stages.size())) {
    const Stage& stage = plan.stages[id.value()];
    first_.push_back(replicas_.size());
    const bool is_new = first_alike[id.value()] == id.value();
    ring_of_.push_back(is_new ? rings_.size() : ring_of_[first_alike[id.value()]]);
    std::vector<ReplicaId>& ring = is_new ? rings_.emplace_back() : rings_[ring_of_.back()];
    ring.reserve(ring.size() + stage.replicas.size());
    for (std::size_t turn = 0; turn < stage.replicas.size(); ++turn) {
      const std::size_t in_ring = stage.ring.empty() ? turn : stage.ring[turn];
      ring.emplace_back(first_.back() + in_ring);
      ids_.push_back(replicas_.push_back({id, static_cast<std::uint32_t>(turn), alternating_replicas(stage),
                                          stage.replicas[turn].lead(), share_of(stage, turn)}));
    }
  }
  first_.push_back(replicas_.size());
  group_by_device();
}

void Replicas::reserve(const Plan& plan) {
  std::size_t count = 0;
  for (const Stage& stage : plan.stages) count += stage.replicas.size();
  replicas_.reserve(count);
  ids_.reserve(count);
  first_.reserve(plan.stages.size() + 1);
  ring_of_.reserve(plan.stages.size());
  rings_.reserve(plan.stages.size());
  devices_.reserve(count);
  device_begin_.reserve(count + 1);
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

}  // namespace stagecraft
