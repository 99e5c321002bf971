#include "sim/schedule/lowering/synchronise.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

/// What completes a bucket of gradients, which is the k-th that the backward completes.
OpId completion(const EndedBackward& ended, std::size_t k) {
  return ended.completes.empty() ? ended.op : ended.completes[k];
}

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
      note(id, number, update_time(kind, state.shape.plan().training, ring.buckets.front().bytes, 1));
    }
  }
}

}  // namespace

Synchronise::Synchronise(LoweringState& state, bool synchronous, bool lowered_all_reduces, VersionSwapping& versions)
    : state_(state),
      versions_(versions),
      synchronous_(synchronous),
      gathers_under_forwards_(state.shape.plan().training.bucket() > Bytes(0)),
      divides_gradients_(state.shape.plan().training.zero >= 2),
      divides_weights_(state.shape.plan().training.zero >= 3),
      rounds_per_update_(state.shape.plan().rounds_per_update) {
  workers_.resize(state.replicas().size());
  for (const RingBuckets::Ring& ring : state.shape.rings().rings) {
    const auto number = static_cast<std::uint16_t>(rings_.size());
    const auto collective = [&](Exchange::Kind kind, std::vector<Bytes> sizes) {
      return RingCollective(state, {kind, ring.members, std::move(sizes), number}, lowered_all_reduces);
    };
    rings_.push_back({.gradients = collective(gradient_exchange(ring), sizes_of(ring.buckets)),
                      .weights = collective(Exchange::Kind::AllGather, sizes_of(ring.weights)),
                      .members = {},
                      .first = {},
                      .apart = ring.apart,
                      .rounds = {},
                      .gathered = {}});
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

void Synchronise::take(const Schedule& schedule) {
  for (const DeviceOrder& order : schedule.devices) {
    const std::size_t device = state_.shape.device_index(order.device);
    for (const Action& action : order.actions) {
      const bool ends = action.kind == ActionKind::Backward || action.kind == ActionKind::BackwardWeight;
      if (ends) ++workers_[state_.shape.replica_on(device, action.stage)].due;
    }
  }
}

bool Synchronise::can_run_backward(ReplicaId replica, std::int64_t index) const {
  if (synchronous_) return true;
  const std::int64_t before = state_.replicas()[replica].completed(index);
  return std::ranges::all_of(workers_[replica].awaited,
                             [&](std::size_t ring) { return rings_[ring].all_reduces >= before / rings_[ring].apart; });
}

const std::vector<OpId>& Synchronise::weights_before_forward(ReplicaId replica) {
  static const std::vector<OpId> kNothing;
  if (!gathers_under_forwards_ || divides_weights_) return kNothing;
  Worker& worker = workers_[replica];
  Ring& ring = own_ring(replica);
  if (ring.weights.buckets() == 0) return kNothing;
  if (std::exchange(worker.has_weights, true) && !state_.is_on_ready_lane(replica)) return kNothing;
  if (ring.gathered.empty()) {
    std::vector<OpId> barriers;
    for (const ReplicaId member : ring.members) {
      const OpId barrier = state_.lanes.barrier(state_.shape.device_index(member));
      if (!barrier.is_none()) barriers.push_back(barrier);
    }
    gather_weights(ring, std::move(barriers), state_.number(0));
  }
  return ring.gathered;
}

OpId Synchronise::gather_unit(ReplicaId replica, const GatherUnit& unit, std::vector<OpId> after,
                              std::uint32_t microbatch) {
  Ring& ring = own_ring(replica);
  for (std::size_t bucket = unit.end_bucket; bucket-- > unit.first_bucket;) {
    if (!ring.end.is_none()) after.push_back(ring.end);
    ring.end = ring.weights.append(bucket, std::exchange(after, {}), state_.number(microbatch));
  }
  return ring.end;
}

void Synchronise::reduce_bucket(ReplicaId replica, std::size_t k, std::vector<OpId> after, std::uint32_t microbatch) {
  const RingBucket& bucket = state_.shape.buckets(stage_of(state_, replica))[k];
  if (bucket.ring != rings_of(state_, replica).front()) return;
  Ring& ring = own_ring(replica);
  if (!ring.end.is_none()) after.push_back(ring.end);
  ring.end = ring.gradients.append(bucket.bucket, after, state_.number(microbatch));
  note_reduced(ring);
}

/// Appends the all-gathers of all buckets, one after the other.
void Synchronise::gather_weights(Ring& ring, std::vector<OpId> after, std::uint32_t first_microbatch) {
  for (std::size_t k = 0; k < ring.weights.buckets(); ++k) {
    ring.gathered.push_back(ring.weights.append(k, after, first_microbatch));
    after = {ring.gathered.back()};
  }
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
  if (state_.is_on_ready_lane(replica) || divides_gradients_) return true;
  const std::int64_t backwards = workers_[replica].backwards + 1;
  return synchronous_ ? backwards == workers_[replica].due : updates_after(replica, backwards);
}

void Synchronise::note_backward(const EndedBackward& ended, bool is_last_segment) {
  Worker& worker = workers_[ended.replica];
  note_last(ended);
  ++worker.backwards;
  if (!synchronous_) {
    if (updates_after(ended.replica, worker.backwards)) note_rounds(ended);
    return;
  }
  for (std::size_t ring : rings_of(state_, ended.replica)) {
    if (is_reduced_each_time(rings_[ring]) && !ended.is_reduced) note_part(ring, ended);
  }
  if (worker.backwards < worker.due || !is_last_segment) return;
  for (std::size_t ring : rings_of(state_, ended.replica)) {
    if (++rings_[ring].arrived == rings_[ring].members.size()) reduce_iteration(ring);
  }
}

/// Appends the reduce-scatter of as many microbatches of each member as this one has had, when all members that have so
/// many have had them.
void Synchronise::note_part(std::size_t of_ring, const EndedBackward& ended) {
  Ring& ring = rings_[of_ring];
  const std::int64_t number = workers_[ended.replica].backwards;
  Round& round = ring.rounds[number];
  add_completions(round, of_ring, ended);
  const auto has_so_many = [&](ReplicaId member) { return state_.shape[member].count >= number; };
  if (++round.arrived < static_cast<std::size_t>(std::ranges::count_if(ring.members, has_so_many))) return;
  ByBucket completed = std::move(round.completed);
  ring.rounds.erase(number);
  all_reduce(ring, std::move(completed), state_.number(ended.microbatch));
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
  for (std::size_t k = 0; k < worker.completed.size(); ++k) worker.completed[k].push_back(completion(ended, k));
}

/// Appends the all-reduce of a flushed iteration, after the last backward of every replica that had one.
void Synchronise::reduce_iteration(std::size_t number) {
  Ring& ring = rings_[number];
  ring.arrived = ring.members.size();
  if (is_reduced_each_time(ring)) return;
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

/// Adds what completes the ring's buckets.
void Synchronise::add_completions(Round& round, std::size_t of_ring, const EndedBackward& ended) const {
  round.completed.resize(rings_[of_ring].gradients.buckets());
  const std::vector<RingBucket>& buckets = state_.shape.buckets(stage_of(state_, ended.replica));
  for (std::size_t k = 0; k < buckets.size(); ++k) {
    if (buckets[k].ring == of_ring) round.completed[buckets[k].bucket].push_back(completion(ended, k));
  }
}

/// Asynchronous: collects the backwards of a round before an update, and appends the all-reduce when every member has
/// had its own.
void Synchronise::note_round(std::size_t of_ring, std::int64_t number, const EndedBackward& ended) {
  Ring& ring = rings_[of_ring];
  Round& round = ring.rounds[number];
  add_completions(round, of_ring, ended);
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
    const bool follows = k > 0 || (is_reduced_each_time(ring) && !ring.end.is_none());
    if (follows) completed[k].push_back(ring.end);
    ring.end = ring.gradients.append(k, completed[k], first_microbatch);
  }
  note_reduced(ring);
}

/// Updates of the ring's members wait for what it has exchanged so far.
void Synchronise::note_reduced(const Ring& ring) {
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
  if (gathers_under_forwards_) return;
  for (Ring& ring : rings_) gather_after_update(ring);
}

/// Appends the all-gathers after the last operation of every member: its update, if that takes time.
void Synchronise::gather_after_update(Ring& ring) {
  if (ring.weights.buckets() == 0) return;
  std::vector<OpId> after;
  for (const ReplicaId member : ring.members) {
    const std::vector<OpId> last = last_of(member);
    after.insert(after.end(), last.begin(), last.end());
  }
  gather_weights(ring, std::move(after), state_.number(0));
  for (const ReplicaId member : ring.members) workers_[member].synchronised.push_back(ring.gathered.back());
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
    if (state_.is_on_ready_lane(id)) state_.writer.depend_on(workers_[id].last_backwards);
  }
  for (Worker& worker : workers_) {
    worker.backwards = worker.due = 0;
    worker.has_weights = false;
    worker.last_backwards.clear();
    worker.completed.clear();
    worker.synchronised.clear();
  }
  for (Ring& ring : rings_) {
    ring.arrived = 0;
    ring.end = OpId::none();
    ring.gathered.clear();
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
    hold(ring.gathered);
    if (divides_weights_) oldest = std::min(oldest, ring.end);
    for (const auto& [number, round] : ring.rounds) {
      for (const std::vector<OpId>& ops : round.completed) hold(ops);
    }
  }
  return oldest;
}

}  // namespace stagecraft
