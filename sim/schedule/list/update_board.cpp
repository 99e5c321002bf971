#include "sim/schedule/list/update_board.hpp"

#include "sim/schedule/kept_plan.hpp"

#include <algorithm>

namespace stagecraft {

UpdateBoard::UpdateBoard(const PlacedPlan& placed, const PipelineWork& work)
    : placed_(&placed), work_(&work), exchanges_(placed.replicas.rings().size()) {}

const std::vector<std::size_t>& UpdateBoard::rings_of(ReplicaId id) const {
  return placed_->replicas.rings_of(placed_->replicas[id].stage);
}

/// Whether the replica has gradients to exchange before an update.
bool UpdateBoard::exchanges(ReplicaId id) const {
  return std::ranges::any_of(rings_of(id), [&](std::size_t ring) { return !work_->all_reduces[ring].empty(); });
}

/// The replica's backwards from one update to the next.
std::int64_t UpdateBoard::apart(ReplicaId id) const {
  return placed_->replicas[id].taken * placed_->plan.rounds_per_update;
}

bool UpdateBoard::follows_exchange(const LocalWork& backward) const {
  return backward.local > 0 && backward.local % apart(backward.replica) == 0 && exchanges(backward.replica);
}

bool UpdateBoard::permits(const LocalWork& backward, Seconds now) const {
  if (!follows_exchange(backward)) return true;
  return std::ranges::all_of(rings_of(backward.replica), [&](std::size_t ring) {
    if (work_->all_reduces[ring].empty()) return true;
    const Exchange& exchange = exchanges_[ring];
    return exchange.updates == backward.local / apart(backward.replica) && exchange.end <= now;
  });
}

Seconds UpdateBoard::begin(const LocalWork& backward, Seconds free, Seconds now) const {
  if (!follows_exchange(backward)) return now;
  Seconds begin = free;
  for (const std::size_t ring : rings_of(backward.replica)) begin = std::max(begin, exchanges_[ring].end);
  return std::max(now, begin + work_->updates[backward.replica].update);
}

Seconds UpdateBoard::end(const LocalWork& backward, Seconds at) {
  released_.clear();
  const ReplicaId id = backward.replica;
  if ((backward.local + 1) % apart(id) != 0) return at;
  if (!exchanges(id)) return at + work_->updates[id].update;
  for (const auto& [bucket, before_end] : work_->updates[id].buckets) {
    const std::size_t buckets = work_->all_reduces[bucket.ring].size();
    if (buckets == 0) continue;
    Exchange& exchange = exchanges_[bucket.ring];
    exchange.completed.resize(buckets);
    exchange.completed[bucket.bucket] = std::max(exchange.completed[bucket.bucket], at - before_end);
  }
  for (const std::size_t ring : rings_of(id)) {
    if (!work_->all_reduces[ring].empty()) join(ring);
  }
  return at;
}

/// A member has completed its part of the buckets. The last one starts the all-reduces, of one bucket after the other.
void UpdateBoard::join(std::size_t ring) {
  Exchange& exchange = exchanges_[ring];
  const std::vector<ReplicaId>& members = placed_->replicas.rings()[ring].members;
  if (++exchange.members < members.size()) return;
  exchange.members = 0;
  ++exchange.updates;
  for (std::size_t k = 0; k < exchange.completed.size(); ++k) {
    exchange.end = std::max(exchange.end, exchange.completed[k]) + work_->all_reduces[ring][k];
  }
  exchange.completed.clear();
  for (const ReplicaId member : members) released_.emplace_back(exchange.end, member);
}

}  // namespace stagecraft
