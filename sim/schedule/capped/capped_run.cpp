#include "sim/schedule/capped/capped_run.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/kept_plan.hpp"

#include <algorithm>
#include <functional>
#include <span>

namespace stagecraft {

CappedRun::CappedRun(std::shared_ptr<const KeptPlan> kept, std::shared_ptr<const PipelineWork> work,
                     const CappedOrder& order, bool synchronous, std::int64_t microbatches)
    : kept_(std::move(kept)), work_(std::move(work)), rule_(order.rule) {
  const Replicas& replicas = kept_->replicas;
  const std::size_t stages = kept_->plan.stages.size();
  crossings_from_.resize(stages);
  crossings_to_.resize(stages);
  std::vector<Inputs> untouched(stages, Inputs{0, 1, {}, {}});  // a backward waits for its own forward
  const auto senders = [&](StageId stage) { return static_cast<std::uint32_t>(replicas.runners_of_each(stage)); };
  for (std::size_t i = 0; i < work_->crossings.size(); ++i) {
    const auto& [from, to, times] = work_->crossings[i];
    crossings_from_[from.value()].push_back(i);
    crossings_to_[to.value()].push_back(i);
    untouched[to.value()].missing_forward += senders(from);
    untouched[from.value()].missing_backward += senders(to);
  }
  if (!synchronous) rounds_.resize(replicas.rings().size());
  for (ReplicaId id : replicas.all()) {
    const StageId stage = replicas[id].stage;
    Worker worker;
    worker.stage = stage;
    worker.times = work_->computations[id];
    worker.count = replicas.count(id, microbatches);
    worker.cap = order.caps[stage.value()];
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
  if (rounds_.empty() || worker.backwards == 0) return true;
  const auto before = static_cast<std::size_t>(worker.backwards - 1);
  return std::ranges::all_of(kept_->replicas.rings_of(worker.stage), [&](std::size_t ring) {
    const Round& round = rounds_[ring][before];
    return round.ended == kept_->replicas.rings()[ring].members.size() && round.end <= now;
  });
}

CappedRun::Inputs& CappedRun::inputs(Worker& worker, std::int64_t local) {
  const auto position = static_cast<std::size_t>(local - worker.backwards);
  while (worker.inputs.size() <= position) worker.inputs.push_back(worker.untouched);
  return worker.inputs[position];
}

void CappedRun::start(ReplicaId id, bool backward, Seconds now) {
  Worker& worker = workers_[id];
  const std::int64_t local = backward ? worker.backwards : worker.forwards;
  Action action;
  action.kind = backward ? ActionKind::Backward : ActionKind::Forward;
  action.stage = worker.stage;
  action.microbatch = kept_->replicas.microbatch(id, local);
  worker.actions.push_back(action);
  const Seconds end = now + (backward ? worker.times.backward : worker.times.forward);
  worker.free = end;
  if (backward) {
    worker.inputs.pop_front();
    ++worker.backwards;
    if (ends_.size() <= action.microbatch) ends_.resize(action.microbatch + std::size_t{1});
    ends_[action.microbatch] = std::max(ends_[action.microbatch], end);
    if (!rounds_.empty()) end_round(id, local, end);
  } else {
    ++worker.forwards;
    arrive(id, action.microbatch, true, end);
  }
  send(id, action.microbatch, backward, end);
  wake(id, end);
}

void CappedRun::send(ReplicaId id, std::uint32_t microbatch, bool backward, Seconds end) {
  const Replicas& replicas = kept_->replicas;
  const StageId stage = workers_[id].stage;
  const std::size_t own = id.value() - replicas.of(stage).front().value();
  for (std::size_t i : (backward ? crossings_to_ : crossings_from_)[stage.value()]) {
    const Crossing& crossing = work_->crossings[i];
    const std::span<const ReplicaId> others = replicas.of(backward ? crossing.from : crossing.to);
    for (ReplicaId other : replicas.runners(backward ? crossing.from : crossing.to, microbatch)) {
      const std::size_t its = other.value() - others.front().value();
      const BlockTimes& times =
          backward ? crossing.times[its * replicas.of(stage).size() + own] : crossing.times[own * others.size() + its];
      arrive(other, microbatch, backward, end + (backward ? times.backward : times.forward));
    }
  }
}

void CappedRun::arrive(ReplicaId id, std::uint32_t microbatch, bool backward, Seconds at) {
  Inputs& known = inputs(workers_[id], kept_->replicas.local(id, microbatch));
  Seconds& last = backward ? known.backward : known.forward;
  last = std::max(last, at);
  if (--(backward ? known.missing_backward : known.missing_forward) == 0) wake(id, last);
}

void CappedRun::end_round(ReplicaId id, std::int64_t local, Seconds end) {
  const auto at = static_cast<std::size_t>(local);
  for (std::size_t ring : kept_->replicas.rings_of(workers_[id].stage)) {
    std::vector<Round>& rounds = rounds_[ring];
    if (rounds.size() <= at) rounds.resize(at + 1);
    rounds[at].end = std::max(rounds[at].end, end);
    const std::vector<ReplicaId>& members = kept_->replicas.rings()[ring].members;
    if (++rounds[at].ended < members.size()) continue;
    for (ReplicaId member : members) wake(member, rounds[at].end);
  }
}

}  // namespace stagecraft
