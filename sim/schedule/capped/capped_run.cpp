#include "sim/schedule/capped/capped_run.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/kept_plan.hpp"

#include <algorithm>
#include <functional>

namespace stagecraft {

// An event-driven run with a single kind of event: a replica wakes and starts what its rule allows, if anything. A wake
// promises nothing, so one too many does no harm, but one too few would stall the run.
//
// **Invariant**: whenever a replica may become able to start something, a wake for that time is in the heap. It can
// become so at the end of its own work (`start`), when the last input of a microbatch arrives (`arrive`), and at the
// end of an all-reduce that an update waits for (`arrive_at_exchange`). No wake is earlier than the one that causes it,
// so time never goes back.
//
// All segments are cut from one run. `run_until` goes on until the slowest replica has started its last backward of the
// segment; what others have started beyond that waits in their lists. So orders do not depend on where they are cut.
// `Worker::inputs` begins with the first microbatch whose backward has not started: no input of an earlier one can
// arrive any more, since its backward has waited for them all.

CappedRun::CappedRun(std::shared_ptr<const KeptPlan> kept, std::shared_ptr<const PipelineWork> work,
                     const CappedOrder& order, bool synchronous, std::int64_t microbatches)
    : kept_(std::move(kept)), work_(std::move(work)), rule_(order.rule), connections_(work_->connections) {
  const Replicas& replicas = kept_->replicas;
  const std::size_t stages = kept_->plan.stages.size();
  crossings_from_.resize(stages);
  crossings_to_.resize(stages);
  std::vector<Inputs> untouched(stages, Inputs{0, 1, {}, {}});  // a backward waits for its own forward
  const auto senders = [&](StageId stage) { return static_cast<std::uint32_t>(runners_of_each(replicas, stage)); };
  for (std::size_t i = 0; i < work_->crossings.size(); ++i) {
    const StageId from = work_->crossings[i].from;
    const StageId to = work_->crossings[i].to;
    crossings_from_[from.value()].push_back(i);
    crossings_to_[to.value()].push_back(i);
    untouched[to.value()].missing_forward += senders(from);
    untouched[from.value()].missing_backward += senders(to);
  }
  if (!synchronous) exchanges_.resize(replicas.rings().size());
  for (ReplicaId id : replicas.all()) {
    const StageId stage = replicas[id].stage;
    Worker worker;
    worker.stage = stage;
    worker.times = work_->computations[id];
    worker.count = replicas.count(id, microbatches);
    worker.cap = order.caps[stage.value()];
    worker.apart = replicas[id].taken * kept_->plan.rounds_per_update;
    worker.untouched = untouched[stage.value()];
    workers_.push_back(std::move(worker));
    wake(id, Seconds(0));
  }
}

Schedule CappedRun::take(std::int64_t end) {
  run_until(end);
  Schedule schedule;
  for (ReplicaId id : kept_->replicas.all()) {
    schedule.devices.push_back({kept_->replicas[id].device, Discipline::Strict, take_actions(id, end)});
  }
  taken_ = end;
  return schedule;
}

void CappedRun::skip(std::int64_t end) {
  keeps_orders_ = false;
  run_until(end);
  taken_ = end;
}

/// Cuts off the replica's actions after its last backward before `end`.
std::vector<Action> CappedRun::take_actions(ReplicaId id, std::int64_t end) {
  std::vector<Action>& actions = workers_[id].actions;
  std::int64_t left = kept_->replicas.count(id, end) - kept_->replicas.count(id, taken_);
  std::size_t cut = 0;
  while (left > 0) left -= actions[cut++].kind == ActionKind::Backward ? 1 : 0;
  const auto middle = actions.begin() + static_cast<std::ptrdiff_t>(cut);
  std::vector<Action> rest(middle, actions.end());
  actions.erase(middle, actions.end());
  return std::exchange(actions, std::move(rest));
}

/// Runs until every replica has started its backwards of the microbatches before `end`.
void CappedRun::run_until(std::int64_t end) {
  const auto lacks = [&](ReplicaId id) { return workers_[id].backwards < kept_->replicas.count(id, end); };
  for (ReplicaId id : kept_->replicas.all()) {
    while (lacks(id)) {
      // The least unfinished microbatch can always go on: no earlier one is in flight, and every cap is at least 1.
      STAGECRAFT_CHECK(!wakes_.empty(), "every microbatch finishes within the caps");
      std::ranges::pop_heap(wakes_, std::greater<>());
      const auto [now, next] = wakes_.back();
      wakes_.pop_back();
      go_on(next, now);
    }
  }
}

void CappedRun::wake(ReplicaId id, Seconds at) {
  wakes_.emplace_back(at, id);
  std::ranges::push_heap(wakes_, std::greater<>());
}

void CappedRun::go_on(ReplicaId id, Seconds now) {
  const Worker& worker = workers_[id];
  if (worker.free > now) return;
  const bool has_room = worker.forwards < worker.count && worker.forwards - worker.backwards < worker.cap;
  bool forward = has_room && is_ready(id, false, now);
  bool backward = worker.backwards < worker.forwards && is_ready(id, true, now);
  if (rule_ == CappedRule::InTurn && has_room) backward = false;
  if (rule_ == CappedRule::BackwardFirst && backward) forward = false;
  if (forward || backward) start(id, !forward, now);
}

bool CappedRun::is_ready(ReplicaId id, bool backward, Seconds now) {
  Worker& worker = workers_[id];
  const Inputs& known = inputs(worker, backward ? worker.backwards : worker.forwards);
  if (!backward) return known.missing_forward == 0 && known.forward <= now;
  if (known.missing_backward > 0 || known.backward > now) return false;
  if (!updates_before(id)) return true;
  return std::ranges::all_of(kept_->replicas.rings_of(worker.stage), [&](std::size_t ring) {
    if (work_->all_reduces[ring].empty()) return true;
    return exchanges_[ring].updates == worker.backwards / worker.apart && exchanges_[ring].end <= now;
  });
}

/// Whether the replica has gradients to exchange before an update.
bool CappedRun::exchanges(ReplicaId id) const {
  return std::ranges::any_of(kept_->replicas.rings_of(workers_[id].stage),
                             [&](std::size_t ring) { return !work_->all_reduces[ring].empty(); });
}

/// Whether an exchange and an update come right before the replica's next backward.
bool CappedRun::updates_before(ReplicaId id) const {
  const Worker& worker = workers_[id];
  return !exchanges_.empty() && worker.backwards > 0 && worker.backwards % worker.apart == 0 && exchanges(id);
}

/// When a backward begins that is ready now. The update before it may already have begun while the replica waited for
/// the backward's inputs.
Seconds CappedRun::begin_of_backward(ReplicaId id, Seconds now) const {
  if (!updates_before(id)) return now;
  Seconds begin = workers_[id].free;
  for (std::size_t ring : kept_->replicas.rings_of(workers_[id].stage)) begin = std::max(begin, exchanges_[ring].end);
  return std::max(now, begin + work_->updates[id].update);
}

CappedRun::Inputs& CappedRun::inputs(Worker& worker, std::int64_t local) {
  const auto position = static_cast<std::size_t>(local - worker.backwards);
  while (worker.inputs.size() <= position) worker.inputs.push_back(worker.untouched);
  return worker.inputs[position];
}

void CappedRun::start(ReplicaId id, bool backward, Seconds now) {
  Worker& worker = workers_[id];
  const std::int64_t local = backward ? worker.backwards : worker.forwards;
  const std::uint32_t microbatch = kept_->replicas.microbatch(id, local);
  if (keeps_orders_) {
    Action& action = worker.actions.emplace_back();
    action.kind = backward ? ActionKind::Backward : ActionKind::Forward;
    action.stage = worker.stage;
    action.microbatch = microbatch;
  }
  const Seconds end = backward ? begin_of_backward(id, now) + worker.times.backward : now + worker.times.forward;
  worker.free = end;
  if (backward) {
    end_backward(id, end);
  } else {
    ++worker.forwards;
    arrive(id, microbatch, true, end);
  }
  send(id, microbatch, backward, end);
  wake(id, worker.free);
}

void CappedRun::end_backward(ReplicaId id, Seconds end) {
  Worker& worker = workers_[id];
  const std::uint32_t microbatch = kept_->replicas.microbatch(id, worker.backwards);
  worker.inputs.pop_front();
  ++worker.backwards;
  if (ends_.size() <= microbatch) ends_.resize(microbatch + std::size_t{1});
  ends_[microbatch] = std::max(ends_[microbatch], end);
  if (exchanges_.empty() || worker.backwards % worker.apart != 0) return;
  if (exchanges(id)) {
    arrive_at_exchange(id, end);
  } else {
    worker.free = end + work_->updates[id].update;
  }
}

void CappedRun::send(ReplicaId id, std::uint32_t microbatch, bool backward, Seconds end) {
  const Replicas& replicas = kept_->replicas;
  for (std::size_t i : (backward ? crossings_to_ : crossings_from_)[workers_[id].stage.value()]) {
    const Crossing& crossing = work_->crossings[i];
    for (ReplicaId other : replicas.runners(backward ? crossing.from : crossing.to, microbatch)) {
      const TensorWay& way = work_->way(replicas, crossing, id, other);
      arrive(other, microbatch, backward, connections_.arrival(way, end));
    }
  }
}

void CappedRun::arrive(ReplicaId id, std::uint32_t microbatch, bool backward, Seconds at) {
  Inputs& known = inputs(workers_[id], kept_->replicas.local(id, microbatch));
  Seconds& last = backward ? known.backward : known.forward;
  last = std::max(last, at);
  if (--(backward ? known.missing_backward : known.missing_forward) == 0) wake(id, last);
}

/// The replica's last backward before an update ends at `end`. The last member to arrive starts the all-reduces, of one
/// bucket after the other.
void CappedRun::arrive_at_exchange(ReplicaId id, Seconds end) {
  for (const auto& [bucket, before_end] : work_->updates[id].buckets) {
    const std::size_t buckets = work_->all_reduces[bucket.ring].size();
    if (buckets == 0) continue;
    Exchange& exchange = exchanges_[bucket.ring];
    exchange.completed.resize(buckets);
    exchange.completed[bucket.bucket] = std::max(exchange.completed[bucket.bucket], end - before_end);
  }
  for (std::size_t ring : kept_->replicas.rings_of(workers_[id].stage)) {
    if (work_->all_reduces[ring].empty()) continue;
    Exchange& exchange = exchanges_[ring];
    const std::vector<ReplicaId>& members = kept_->replicas.rings()[ring].members;
    if (++exchange.members < members.size()) continue;
    exchange.members = 0;
    ++exchange.updates;
    for (std::size_t k = 0; k < exchange.completed.size(); ++k) {
      exchange.end = std::max(exchange.end, exchange.completed[k]) + work_->all_reduces[ring][k];
    }
    exchange.completed.clear();
    for (ReplicaId member : members) wake(member, exchange.end);
  }
}

}  // namespace stagecraft
