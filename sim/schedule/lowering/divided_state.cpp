#include "sim/schedule/lowering/divided_state.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

/// The ring of all that replicas of a stage have, but for what is tied to other stages.
std::size_t own_ring(const LoweringState& state, ReplicaId replica) {
  return state.shape.rings().rings_of[state.replicas()[replica].stage.value()].front();
}

}  // namespace

DividedState::DividedState(LoweringState& state, bool is_lowered)
    : state_(state),
      zero_(state.shape.plan().training.zero),
      gathers_under_forwards_(state.shape.plan().training.bucket() > Bytes(0)),
      ring_of_(state.replicas().size(), kNone),
      has_weights_(state.replicas().size()) {
  if (zero_ == 0) return;
  const RingBuckets& rings = state.shape.rings();
  for (std::size_t number = 0; number < rings.untied; ++number) {
    const RingBuckets::Ring& ring = rings.rings[number];
    if (ring.weights.empty()) continue;
    const auto collective = [&](Exchange::Kind kind, std::vector<BucketBytes> buckets) {
      return RingCollective(state, {kind, ring.members, std::move(buckets), static_cast<std::uint16_t>(number)},
                            is_lowered);
    };
    Ring& added =
        rings_.emplace_back(Ring{collective(Exchange::Kind::AllGather, bytes_of(ring.weights)), {}, {}, {}, {}});
    if (divides_gradients()) added.gradients.emplace(collective(Exchange::Kind::ReduceScatter, bytes_of(ring.buckets)));
    for (const ReplicaId id : state.replicas().all()) {
      if (own_ring(state, id) != number) continue;
      ring_of_[id] = rings_.size() - 1;
      added.members.push_back(id);
    }
  }
}

const std::vector<OpId>& DividedState::before_forward(ReplicaId replica) {
  static const std::vector<OpId> kNothing;
  if (ring_of_[replica] == kNone || !gathers_under_forwards_ || zero_ >= 3) return kNothing;
  if (std::exchange(has_weights_[replica], 1) != 0 && !state_.is_on_ready_lane(replica)) return kNothing;
  Ring& own = ring(replica);
  if (!own.gathered.empty()) return own.gathered;
  const OpId barrier = barrier_for(replica);
  gather_all(own, barrier.is_none() ? std::vector<OpId>{} : std::vector{barrier});
  return own.gathered;
}

void DividedState::gather_after_updates(const std::function<std::vector<OpId>(ReplicaId)>& last_of) {
  if (gathers_under_forwards_) return;
  for (Ring& ring : rings_) {
    std::vector<OpId> after;
    for (const ReplicaId member : ring.members) {
      const std::vector<OpId> last = last_of(member);
      after.insert(after.end(), last.begin(), last.end());
    }
    gather_all(ring, std::move(after));
  }
}

void DividedState::gather_all(Ring& ring, std::vector<OpId> after) {
  for (std::size_t k = 0; k < ring.weights.buckets(); ++k) {
    append_next(ring, ring.weights, k, std::exchange(after, {}), 0);
    ring.gathered.push_back(ring.end);
  }
}

/// Appends the collective of a bucket, after what the ring has exchanged so far.
void DividedState::append_next(Ring& ring, RingCollective& collective, std::size_t bucket, std::vector<OpId> after,
                               std::uint32_t microbatch) {
  if (!ring.end.is_none()) after.push_back(ring.end);
  ring.end = collective.append(bucket, after, state_.number(microbatch));
}

OpId DividedState::gather_unit(ReplicaId replica, const GatherUnit& unit, std::vector<OpId> after,
                               std::uint32_t microbatch) {
  Ring& own = ring(replica);
  for (std::size_t bucket = unit.end_bucket; bucket-- > unit.first_bucket;) {
    append_next(own, own.weights, bucket, std::exchange(after, {}), microbatch);
  }
  return own.end;
}

void DividedState::reduce_bucket(ReplicaId replica, std::size_t k, std::vector<OpId> after, std::uint32_t microbatch) {
  const RingBucket& bucket = state_.shape.buckets(state_.replicas()[replica].stage)[k];
  if (bucket.ring != own_ring(state_, replica)) return;
  Ring& own = ring(replica);
  append_next(own, *own.gradients, bucket.bucket, std::move(after), microbatch);
}

void DividedState::note_backward(const EndedBackward& ended, std::int64_t backwards) {
  if (!divides_gradients() || ring_of_[ended.replica] == kNone || ended.is_reduced) return;
  Ring& own = ring(ended.replica);
  const std::vector<RingBucket>& buckets = state_.shape.buckets(state_.replicas()[ended.replica].stage);
  const auto [found, is_first] = own.rounds.try_emplace(backwards);
  Round& round = found->second;
  if (is_first) round.microbatch = ended.microbatch;
  round.completed.resize(buckets.size());
  for (std::size_t k = 0; k < buckets.size(); ++k) round.completed[k].push_back(ended.completion(k));
  ++round.arrived;
  // A replica with more turns may be ahead of the others: rounds are exchanged in their order.
  for (auto first = own.rounds.begin(); first != own.rounds.end() && first->first == own.next; ++own.next) {
    const auto has_so_many = [&](ReplicaId member) { return state_.shape[member].count >= own.next; };
    if (first->second.arrived < std::ranges::count_if(own.members, has_so_many)) return;
    auto& [arrived, microbatch, completed] = first->second;
    for (std::size_t k = 0; k < completed.size(); ++k) {
      reduce_bucket(ended.replica, k, std::move(completed[k]), microbatch);
    }
    first = own.rounds.erase(first);
  }
}

void DividedState::end_iteration(OpId barrier) {
  barrier_ = barrier;
  std::ranges::fill(has_weights_, 0);
  for (Ring& ring : rings_) {
    ring.gathered.clear();
    ring.next = 1;
    ring.end = OpId::none();
  }
}

OpId DividedState::oldest() const {
  OpId oldest = OpId::none();
  const auto hold = [&](OpId op) { oldest = std::min(oldest, op); };
  for (const Ring& ring : rings_) {
    hold(ring.end.is_none() && gathers_under_forwards_ ? barrier_ : ring.end);
    std::ranges::for_each(ring.gathered, hold);
    for (const auto& [number, round] : ring.rounds) {
      for (const std::vector<OpId>& ops : round.completed) std::ranges::for_each(ops, hold);
    }
  }
  return oldest;
}

}  // namespace stagecraft
