#include "sim/schedule/lowering/synchronise.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/pipeline_times.hpp"

#include <algorithm>
#include <set>

namespace stagecraft {

Synchronise::Synchronise(LoweringState& state, bool synchronous)
    : state_(state), synchronous_(synchronous), rounds_per_update_(state.shape.plan().rounds_per_update) {
  workers_.resize(state.replicas().size());
  for (const std::vector<ReplicaId>& members : state.replicas().rings()) {
    Ring ring;
    ring.members = members;
    ring.parameters = state.shape[members.front()].program.parameters;
    if (state.shape.is_analytic()) {
      std::set<DeviceId> devices;
      for (ReplicaId member : members) devices.insert(state.replicas()[member].device);
      const auto slowest = smallest_bandwidth_among(state.shape.platform(), {devices.begin(), devices.end()});
      const auto count = static_cast<std::int64_t>(members.size());
      if (slowest) ring.analytic = ring_bytes(ring.parameters, count) / *slowest;
    }
    rings_.push_back(std::move(ring));
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
  if (synchronous_ || ring_of(replica).members.size() == 1) return true;
  return workers_[replica].synchronised_rounds >= index / rounds_per_update_ * rounds_per_update_;
}

const std::vector<OpId>& Synchronise::before_backward(ReplicaId replica) const {
  static const std::vector<OpId> kNothing;
  const Worker& worker = workers_[replica];
  return synchronous_ || !updates_after(worker.backwards) ? kNothing : worker.synchronised;
}

void Synchronise::step_before_backward(ReplicaId replica) {
  const std::vector<OpId>& synchronised = before_backward(replica);
  if (!synchronised.empty() && has_update(replica)) append_update(replica, synchronised);
}

void Synchronise::note_backward(ReplicaId replica, std::uint32_t microbatch, OpId op, bool is_last_segment) {
  Worker& worker = workers_[replica];
  Ring& ring = ring_of(replica);
  note_last(replica, op);
  ++worker.backwards;
  if (!synchronous_) {
    if (!updates_after(worker.backwards)) return;
    if (ring.members.size() > 1) {
      note_round(ring, state_.replicas().local(replica, microbatch), op);
    } else if (has_update(replica)) {
      append_update(replica, {});
    }
    return;
  }
  if (worker.backwards < worker.due || !is_last_segment) return;
  if (++ring.arrived == ring.members.size()) reduce_iteration(ring);
}

void Synchronise::note_last(ReplicaId replica, OpId backward) {
  std::vector<OpId>& last = workers_[replica].last_backwards;
  if (!synchronous_ || !state_.is_on_ready_lane(replica)) last.clear();
  last.push_back(backward);
}

/// Appends the all-reduce of a flushed iteration, after the last backward of every replica that had one.
void Synchronise::reduce_iteration(Ring& ring) {
  std::vector<OpId> after;
  for (ReplicaId member : ring.members) {
    const std::vector<OpId>& last = workers_[member].last_backwards;
    after.insert(after.end(), last.begin(), last.end());
  }
  ring.arrived = ring.members.size();
  if (ring.members.size() > 1) all_reduce(ring, after);
}

/// Asynchronous: collects the backwards of a round before an update, and appends the all-reduce when every member has
/// had its own.
void Synchronise::note_round(Ring& ring, std::int64_t round, OpId op) {
  std::vector<OpId>& ops = ring.rounds[round];
  ops.push_back(op);
  if (ops.size() < ring.members.size()) return;
  const std::vector<OpId> after = std::move(ops);
  ring.rounds.erase(round);
  all_reduce(ring, after);
  for (ReplicaId member : ring.members) workers_[member].synchronised_rounds += rounds_per_update_;
}

/// The largest latency between neighbours in the ring; 0 on the analytic network.
Seconds Synchronise::latency_of(const Ring& ring) const {
  Seconds latency;
  Route route;
  for (std::size_t i = 0; i < ring.members.size(); ++i) {
    const ReplicaId from = ring.members[i];
    const ReplicaId to = ring.members[(i + 1) % ring.members.size()];
    const PlaceId start = state_.shape[from].place;
    const PlaceId end = state_.shape[to].place;
    if (state_.shape.is_analytic() || start == end) continue;
    STAGECRAFT_CHECK(find_route(state_.shape.platform(), start, end, route), "replicas of a sound plan are connected");
    latency = std::max(latency, route.latency);
  }
  return latency;
}

/// Appends a ring all-reduce over n members. It has 2 (n - 1) steps, in which 2 (n - 1) / n of the parameters cross
/// each connection between neighbours. All steps are modelled by one flow for each pair of neighbours. A flow brings
/// the latency of one step itself, so a delay before the flows stands for the latency of the other 2 (n - 1) - 1 steps.
/// On the analytic network the bytes are the same, at the bandwidth of the slowest pair and without latency.
void Synchronise::all_reduce(Ring& ring, const std::vector<OpId>& after) {
  const std::size_t count = ring.members.size();
  const auto n = static_cast<std::int64_t>(count);
  const Seconds latency = latency_of(ring);
  std::vector<OpId> start = after;
  if (latency > Seconds(0)) {
    Op delay;
    delay.kind = OpKind::Delay;
    delay.stage = state_.run_stage(stage_of(ring.members.front()));
    delay.seconds = latency * static_cast<double>(2 * (n - 1) - 1);
    start = {state_.writer.append(delay)};
    state_.writer.depend_on(after);
  }
  std::vector<OpId> flows;
  for (std::size_t i = 0; i < count; ++i) {
    Op flow;
    flow.kind = OpKind::AllReduce;
    flow.stage = state_.run_stage(stage_of(ring.members[i]));
    flow.from = state_.shape[ring.members[i]].place;
    flow.to = state_.shape[ring.members[(i + 1) % count]].place;
    flow.bytes = ring_bytes(ring.parameters, n);
    flow.literal = state_.shape.is_analytic();
    flow.seconds = ring.analytic;
    flows.push_back(state_.writer.append(flow));
    state_.writer.depend_on(start);
  }
  for (std::size_t i = 0; i < count; ++i) {
    workers_[ring.members[i]].synchronised = {flows[i], flows[(i + count - 1) % count]};  // sent and received
  }
}

void Synchronise::append_update(ReplicaId replica, const std::vector<OpId>& after) {
  Worker& worker = workers_[replica];
  Op op = state_.computation(replica, OpKind::Update, 0);
  op.microbatch = worker.updates++;
  op.seconds = state_.shape[replica].update;
  state_.append_computation(replica, op, 0, Seconds(0));
  state_.writer.depend_on(after);
  if (state_.is_on_ready_lane(replica)) state_.writer.depend_on(worker.last_backwards);
}

void Synchronise::end_iteration() {
  for (Ring& ring : rings_) {  // a replica without a microbatch has had no backward, so it has not arrived
    if (ring.arrived < ring.members.size()) reduce_iteration(ring);
  }
  for (ReplicaId id : state_.replicas().all()) {
    if (has_update(id)) append_update(id, workers_[id].synchronised);
  }
  append_barrier();
  for (Worker& worker : workers_) {
    worker.backwards = worker.due = 0;
    worker.last_backwards.clear();
    worker.synchronised.clear();
  }
  for (Ring& ring : rings_) ring.arrived = 0;
}

/// Appends the barrier that ends an iteration. It waits for the last operation appended to every lane. A ready lane may
/// run its operations in another order, so there the barrier also waits for all backwards of the iteration.
void Synchronise::append_barrier() {
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
}

/// True if the replica has no updates to append and either has no microbatch in any iteration, or is in the last
/// iteration with its all-reduce appended. (A ring with a replica that has no microbatch gets its all-reduce only at
/// the end of the iteration.)
bool Synchronise::is_settled(ReplicaId replica, bool is_last_iteration) const {
  const Ring& ring = ring_of(replica);
  const bool is_reduced = !synchronous_ || ring.arrived == ring.members.size();
  return !has_update(replica) && (state_.shape[replica].count == 0 || (is_last_iteration && is_reduced));
}

std::vector<OpId> Synchronise::last_of(ReplicaId replica) const {
  std::vector<OpId> last = workers_[replica].synchronised;
  last.insert(last.end(), workers_[replica].last_backwards.begin(), workers_[replica].last_backwards.end());
  const OpId on_lane = state_.lanes.last(state_.shape.device_index(replica));
  if (!on_lane.is_none()) last.push_back(on_lane);
  return last;
}

OpId Synchronise::oldest() const {
  OpId oldest = OpId::none();
  for (const Worker& worker : workers_) {
    for (OpId op : worker.last_backwards) oldest = std::min(oldest, op);
    for (OpId op : worker.synchronised) oldest = std::min(oldest, op);
  }
  for (const Ring& ring : rings_) {
    for (const auto& [round, ops] : ring.rounds) {
      for (OpId op : ops) oldest = std::min(oldest, op);
    }
  }
  return oldest;
}

}  // namespace stagecraft
