#include "sim/schedule/lowering/synchronise.hpp"

#include "sim/schedule/memory_ledger.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

StageId stage_of(const LoweringState& state, ReplicaId replica) { return state.replicas()[replica].stage; }

const std::vector<std::size_t>& rings_of(const LoweringState& state, ReplicaId replica) {
  return state.shape.rings().rings_of[stage_of(state, replica).value()];
}

/// Calls `note` with each replica that exchanges tied parameters, their ring, and the time of the optimizer's step for
/// them.
template <class Note>
void for_each_tied(const LoweringState& state, const Note& note) {
  const RingBuckets& rings = state.shape.rings();
  for (std::size_t number = rings.untied; number < rings.rings.size(); ++number) {
    const RingBuckets::Ring& ring = rings.rings[number];
    if (ring.buckets.empty()) continue;
    for (const ReplicaId id : ring.members) {
      const DeviceKind& kind = state.shape.platform().kind(state.replicas()[id].device);
      note(id, number,
           update_time(kind, state.shape.plan().training,
                       {.bytes = ring.buckets.front().bytes, .begins_update = false}));
    }
  }
}

}  // namespace

Synchronise::Synchronise(LoweringState& state, bool synchronous, bool lowered_all_reduces, VersionSwapping& versions,
                         DividedState& divided)
    : state_(state),
      versions_(versions),
      divided_(divided),
      synchronous_(synchronous),
      rounds_per_update_(state.shape.plan().rounds_per_update) {
  workers_.resize(state.replicas().size());
  for (const RingBuckets::Ring& ring : state.shape.rings().rings) {
    const auto number = static_cast<std::uint16_t>(rings_.size());
    std::vector<BucketBytes> buckets;
    if (ring.weights.empty() || !divided.divides_gradients()) buckets = bytes_of(ring.buckets);
    RingWork work{gradient_exchange(ring), ring.members, std::move(buckets), number};
    rings_.push_back({.gradients = RingCollective(state, std::move(work), lowered_all_reduces),
                      .members = {},
                      .first = {},
                      .apart = ring.apart,
                      .rounds = {}});
  }
  for (ReplicaId id : state.replicas().all()) add_member(id);
  if (synchronous) return;
  for_each_tied(state,
                [&](ReplicaId id, std::size_t ring, Seconds step) { workers_[id].tied.emplace_back(ring, step); });
}

Seconds Synchronise::update_time(ReplicaId replica) const {
  const Worker& worker = workers_[replica];
  Seconds time = state_.worker(replica, last_microbatch(replica), true).update;
  const std::int64_t microbatches = state_.replicas()[replica].completed(worker.backwards);
  for (const auto& [ring, part] : worker.tied) {
    if (microbatches % rings_[ring].apart != 0) time = time - part;
  }
  return std::max(time, Seconds(0));  // another stage on the device may hold what the ring has here
}

/// Adds the replica to its rings. Those of the same pipeline come in the order of its stages.
void Synchronise::add_member(ReplicaId replica) {
  for (std::size_t number : rings_of(state_, replica)) {
    Ring& ring = rings_[number];
    const StageId stage = stage_of(state_, replica);
    const bool is_first = ring.first.try_emplace(state_.replicas()[replica].pipeline, stage).first->second == stage;
    const bool is_awaited = synchronous_ || is_first;
    if (is_awaited && ring.gradients.buckets() > 0) workers_[replica].awaited.push_back(number);
    ring.members.push_back(replica);
  }
}

bool Synchronise::can_run_backward(ReplicaId replica, std::int64_t index) const {
  if (synchronous_) return true;
  const std::int64_t before = state_.replicas()[replica].completed(index);
  return std::ranges::all_of(workers_[replica].awaited,
                             [&](std::size_t ring) { return rings_[ring].all_reduces >= before / rings_[ring].apart; });
}

const std::vector<OpId>& Synchronise::before_backward(ReplicaId replica) const {
  static const std::vector<OpId> kNothing;
  return synchronous_ || !is_reduced_after(replica) ? kNothing : workers_[replica].synchronised;
}

bool Synchronise::is_reduced_after(ReplicaId replica) const {
  const Worker& worker = workers_[replica];
  const std::int64_t microbatches = state_.replicas()[replica].completed(worker.backwards);
  return updates_after(replica, worker.backwards) &&
         std::ranges::any_of(worker.awaited, [&](std::size_t ring) { return microbatches % rings_[ring].apart == 0; });
}

void Synchronise::step_before_backward(ReplicaId replica) {
  const std::vector<OpId>& synchronised = before_backward(replica);
  if (!synchronised.empty()) change_weights(replica, synchronised);
}

/// Asynchronous: appends the optimizer's step, if it takes time, after the device's last operation and `after`.
/// Forwards that are appended later use the new weights.
void Synchronise::change_weights(ReplicaId replica, const std::vector<OpId>& after) {
  if (update_time(replica) > Seconds(0)) append_update(replica, after);
  if (!versions_.is_active()) return;
  std::vector<OpId> all = after;
  all.push_back(state_.lanes.last(state_.shape.device_index(replica)));
  versions_.update(replica, all);
}

bool Synchronise::may_complete_gradients(ReplicaId replica) const {
  if (state_.is_on_ready_lane(replica) || divided_.divides_gradients()) return true;
  const std::int64_t backwards = workers_[replica].backwards + 1;
  return synchronous_ ? backwards == in_iteration(replica) : updates_after(replica, backwards);
}

void Synchronise::note_backward(const EndedBackward& ended) {
  Worker& worker = workers_[ended.replica];
  note_last(ended);
  ++worker.backwards;
  if (!synchronous_) {
    if (updates_after(ended.replica, worker.backwards)) note_rounds(ended);
    return;
  }
  divided_.note_backward(ended, worker.backwards);
  if (worker.backwards < in_iteration(ended.replica)) return;
  for (std::size_t ring : rings_of(state_, ended.replica)) {
    if (++rings_[ring].arrived == rings_[ring].members.size()) reduce_iteration(ring);
  }
}

/// Asynchronous: the backward is the last one of a round before an update, and perhaps of all rounds of a ring.
void Synchronise::note_rounds(const EndedBackward& ended) {
  const Worker& worker = workers_[ended.replica];
  const std::int64_t microbatches = state_.replicas()[ended.replica].completed(worker.backwards);
  for (std::size_t number : rings_of(state_, ended.replica)) {
    const Ring& ring = rings_[number];
    const bool is_due = microbatches % ring.apart == 0;
    if (is_due && ring.gradients.buckets() > 0) note_round(number, microbatches / ring.apart, ended);
  }
  if (!is_reduced_after(ended.replica)) change_weights(ended.replica, {});
}

void Synchronise::note_last(const EndedBackward& ended) {
  Worker& worker = workers_[ended.replica];
  if (!synchronous_ || !state_.is_on_ready_lane(ended.replica)) {
    worker.last_backwards.clear();
    worker.completed.clear();
  }
  worker.last_backwards.push_back(ended.op);
  if (!synchronous_ || !may_complete_gradients(ended.replica)) return;
  worker.completed.resize(state_.shape.buckets(stage_of(state_, ended.replica)).size());
  for (std::size_t k = 0; k < worker.completed.size(); ++k) worker.completed[k].push_back(ended.completion(k));
}

/// Appends the all-reduce of a flushed iteration, after the last backward of every replica that had one.
void Synchronise::reduce_iteration(std::size_t number) {
  Ring& ring = rings_[number];
  ring.arrived = ring.members.size();
  if (ring.gradients.buckets() == 0) return;
  ByBucket completed(ring.gradients.buckets());
  for (ReplicaId member : ring.members) {
    const ByBucket& own = workers_[member].completed;
    const std::vector<RingBucket>& buckets = state_.shape.buckets(stage_of(state_, member));
    for (std::size_t k = 0; k < own.size(); ++k) {
      if (buckets[k].ring != number) continue;
      std::vector<OpId>& ops = completed[buckets[k].bucket];
      ops.insert(ops.end(), own[k].begin(), own[k].end());
    }
  }
  all_reduce(ring, std::move(completed), state_.number(0));
}

/// Asynchronous: collects the backwards of a round before an update, and appends the all-reduce when every member has
/// had its own.
void Synchronise::note_round(std::size_t of_ring, std::int64_t number, const EndedBackward& ended) {
  Ring& ring = rings_[of_ring];
  Round& round = ring.rounds[number];
  round.completed.resize(ring.gradients.buckets());
  const std::vector<RingBucket>& buckets = state_.shape.buckets(stage_of(state_, ended.replica));
  for (std::size_t k = 0; k < buckets.size(); ++k) {
    if (buckets[k].ring == of_ring) round.completed[buckets[k].bucket].push_back(ended.completion(k));
  }
  if (++round.arrived < ring.members.size()) return;
  ByBucket completed = std::move(round.completed);
  ring.rounds.erase(number);
  ++ring.all_reduces;
  const std::int64_t in_round = state_.replicas()[ring.members.front()].turns;  // microbatches
  all_reduce(ring, std::move(completed), state_.number(number * ring.apart - in_round));
}

/// Appends the all-reduces of all buckets, one after the other.
void Synchronise::all_reduce(Ring& ring, ByBucket completed, std::uint32_t first_microbatch) {
  if (completed.empty()) return;
  for (std::size_t k = 0; k < completed.size(); ++k) {
    if (k > 0) completed[k].push_back(ring.end);
    ring.end = ring.gradients.append(k, completed[k], first_microbatch);
  }
  for (ReplicaId member : ring.members) {
    Worker& worker = workers_[member];
    worker.synchronised.clear();
    for (std::size_t awaited : worker.awaited) {
      if (!rings_[awaited].end.is_none()) worker.synchronised.push_back(rings_[awaited].end);
    }
  }
}

void Synchronise::append_update(ReplicaId replica, const std::vector<OpId>& after) {
  Worker& worker = workers_[replica];
  Op op = state_.computation(replica, OpKind::Update, last_microbatch(replica));
  op.microbatch = worker.updates++;
  op.seconds = update_time(replica);
  state_.append_computation(replica, op, 0, Seconds(0));
  state_.writer.depend_on(after);
  if (const OpId last = divided_.last_exchange(replica); !last.is_none()) state_.writer.depend_on(last);
  if (state_.is_on_ready_lane(replica)) state_.writer.depend_on(worker.last_backwards);
}

void Synchronise::flush() {
  for (std::size_t ring = 0; ring < rings_.size(); ++ring) {
    // A replica without a microbatch has had no backward, so it has not arrived.
    if (rings_[ring].arrived < rings_[ring].members.size()) reduce_iteration(ring);
  }
  for (ReplicaId id : state_.replicas().all()) {
    if (update_time(id) > Seconds(0)) append_update(id, workers_[id].synchronised);
  }
  divided_.gather_after_updates([&](ReplicaId id) { return last_of(id); });
}

/// The barrier waits for the last operation appended to every lane. A ready lane may run its operations in another
/// order, so there it also waits for all backwards of the iteration.
void Synchronise::end_iteration() {
  Op op;
  op.kind = OpKind::Barrier;
  op.microbatch = state_.number(state_.shape.plan().microbatches - 1);
  const OpId barrier = state_.writer.append(op);
  for (std::size_t device = 0; device < state_.lanes.size(); ++device) {
    const OpId last = state_.lanes.last(device);
    if (!last.is_none()) state_.writer.depend_on(last);
    state_.lanes.hold(device, barrier);
  }
  for (ReplicaId id : state_.replicas().all()) {
    state_.writer.depend_on(workers_[id].synchronised);
    if (const OpId last = divided_.last_exchange(id); !last.is_none()) state_.writer.depend_on(last);
    if (state_.is_on_ready_lane(id)) state_.writer.depend_on(workers_[id].last_backwards);
  }
  divided_.end_iteration(barrier);
  for (Worker& worker : workers_) {
    worker.backwards = 0;
    worker.last_backwards.clear();
    worker.completed.clear();
    worker.synchronised.clear();
  }
  for (Ring& ring : rings_) {
    ring.arrived = 0;
    ring.end = OpId::none();
  }
}

/// True if the replica has no updates to append and either has no microbatch in any iteration, or is in the last
/// iteration with its all-reduce appended. (A ring with a replica that has no microbatch gets its all-reduce only at
/// the end of the iteration.)
bool Synchronise::is_settled(ReplicaId replica, bool is_last_iteration) const {
  const bool is_reduced = !synchronous_ || std::ranges::all_of(rings_of(state_, replica), [&](std::size_t ring) {
    return rings_[ring].arrived == rings_[ring].members.size();
  });
  const bool has_updates = state_.worker(replica, last_microbatch(replica), true).update > Seconds(0);
  return !has_updates && (state_.shape[replica].count == 0 || (is_last_iteration && is_reduced));
}

std::vector<OpId> Synchronise::last_of(ReplicaId replica) const {
  std::vector<OpId> last = workers_[replica].synchronised;
  last.insert(last.end(), workers_[replica].last_backwards.begin(), workers_[replica].last_backwards.end());
  if (const OpId exchanged = divided_.last_exchange(replica); !exchanged.is_none()) last.push_back(exchanged);
  const DeviceLanes& lanes = state_.lanes;
  const std::size_t device = state_.shape.device_index(replica);
  for (const OpId op : {lanes.last(device), lanes.barrier(device)}) {
    if (!op.is_none()) last.push_back(op);
  }
  return last;
}

OpId Synchronise::oldest() const {
  OpId oldest = OpId::none();
  const auto hold = [&](const std::vector<OpId>& ops) {
    for (OpId op : ops) oldest = std::min(oldest, op);
  };
  for (const Worker& worker : workers_) {
    hold(worker.last_backwards);
    hold(worker.synchronised);
    for (const std::vector<OpId>& ops : worker.completed) hold(ops);
  }
  for (const Ring& ring : rings_) {
    for (const auto& [number, round] : ring.rounds) {
      for (const std::vector<OpId>& ops : round.completed) hold(ops);
    }
  }
  return oldest;
}

}  // namespace stagecraft
