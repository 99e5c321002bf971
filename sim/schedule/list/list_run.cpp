#include "sim/schedule/list/list_run.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

namespace stagecraft {

// An event-driven run with a single kind of event: a device wakes and starts the operation that its rule puts first, if
// any is ready. A wake promises nothing, so one too many does no harm, but one too few would stall the run.
//
// **Invariant**: whenever a device may become able to start something, a wake for that time is in the heap. It can
// become so at the end of its own work, when the last input of an operation arrives, and at the end of an all-reduce
// that an update waits for (`start`). No wake is earlier than the one that causes it, so time never goes back.
//
// All segments are cut from one run. `run_until` goes on until the slowest replica has started its last backward of the
// segment; what others have started beyond that waits in `actions_`. So orders do not depend on where they are cut.

ListRun::ListRun(std::shared_ptr<const PlacedPlan> placed, std::shared_ptr<const PipelineWork> work, ListRule rule,
                 bool synchronous, std::int64_t microbatches)
    : placed_(std::move(placed)),
      work_(std::move(work)),
      rule_(std::move(rule)),
      row_(device_row(placed_->replicas)),
      board_(*placed_, *work_, microbatches, InputRule::Chain),
      started_(placed_->replicas.size()),
      free_(row_.devices.size()),
      actions_(row_.devices.size()) {
  if (!synchronous) updates_.emplace(*placed_, *work_);
  for (std::size_t device = 0; device < row_.devices.size(); ++device) wake(device, Seconds(0));
  if (rule_.passes != Passes::Backwards) return;
  for (const ReplicaId id : placed_->replicas.all()) started_[id].forwards = board_.count(id);
}

Schedule ListRun::take(std::int64_t end) {
  const TimedOrders orders = take_timed(end);
  Schedule schedule;
  for (std::size_t device = 0; device < row_.devices.size(); ++device) {
    DeviceOrder& order = schedule.devices.emplace_back();
    order.device = row_.devices[device];
    order.actions.reserve(orders[device].size());
    for (const TimedAction& timed : orders[device]) order.actions.push_back(timed.action);
  }
  return schedule;
}

TimedOrders ListRun::take_timed(std::int64_t end) {
  run_until(end);
  TimedOrders orders;
  for (std::size_t device = 0; device < row_.devices.size(); ++device) orders.push_back(take_actions(device, end));
  taken_ = end;
  return orders;
}

void ListRun::skip(std::int64_t end) {
  keeps_orders_ = false;
  run_until(end);
  taken_ = end;
}

/// Cuts off the device's actions after its last pass of a microbatch before `end`.
std::vector<TimedAction> ListRun::take_actions(std::size_t device, std::int64_t end) {
  std::vector<TimedAction>& actions = actions_[device];
  const ActionKind last = rule_.passes == Passes::Forwards ? ActionKind::Forward
                          : rule_.halves                   ? ActionKind::BackwardWeight
                                                           : ActionKind::Backward;
  std::int64_t left = 0;
  for (const ReplicaId id : row_.on[device]) {
    left += placed_->replicas.count(id, end) - placed_->replicas.count(id, taken_);
  }
  std::size_t cut = 0;
  for (; left > 0; ++cut) {
    const Action& action = actions[cut].action;
    left -= action.kind == last && action.microbatch < end ? 1 : 0;
  }
  const auto middle = actions.begin() + static_cast<std::ptrdiff_t>(cut);
  std::vector<TimedAction> rest(middle, actions.end());
  actions.erase(middle, actions.end());
  return std::exchange(actions, std::move(rest));
}

/// How many microbatches have started the last of their passes on the replica.
std::int64_t ListRun::completed(ReplicaId id) const {
  if (rule_.passes == Passes::Forwards) return started_[id].forwards;
  return rule_.halves ? started_[id].weights : started_[id].backwards;
}

/// Runs until every replica has started its passes of the microbatches before `end`.
void ListRun::run_until(std::int64_t end) {
  for (const ReplicaId id : placed_->replicas.all()) {
    const std::int64_t count = placed_->replicas.count(id, end);
    while (completed(id) < count) {
      // The least unfinished microbatch can always go on: no earlier one is in flight, and every cap is at least 1.
      STAGECRAFT_CHECK(!wakes_.empty(), "every microbatch finishes within the caps");
      std::ranges::pop_heap(wakes_, std::greater<>());
      const auto [now, device] = wakes_.back();
      wakes_.pop_back();
      if (free_[device] > now) continue;
      if (const std::optional<LocalWork> next = first_of(device, now)) {
        start(*next, now);
      } else if (const std::optional<ReplicaId> filling = weight_of(device, now)) {
        start_weight(*filling, now);
      }
    }
  }
}

void ListRun::wake(std::size_t device, Seconds at) {
  wakes_.emplace_back(at, device);
  std::ranges::push_heap(wakes_, std::greater<>());
}

/// The operation that goes first of those on an idle device that are ready.
std::optional<LocalWork> ListRun::first_of(std::size_t device, Seconds now) const {
  std::optional<LocalWork> best;
  const auto propose = [&](const LocalWork& work) {
    if (is_ready(work, now) && (!best || rank_of(work) < rank_of(*best))) best = work;
  };
  for (const ReplicaId id : row_.on[device]) {
    const Started& started = started_[id];
    const bool has_room = this->has_room(id);
    if (has_room) propose({id, started.forwards, false});
    if (rule_.passes == Passes::Forwards || started.backwards == started.forwards) continue;
    if (rule_.turn != Turn::Strict || !has_room) propose({id, started.backwards, true});
  }
  return best;
}

/// Whether the replica may start a forward.
bool ListRun::has_room(ReplicaId id) const {
  const Started& started = started_[id];
  if (started.forwards == board_.count(id)) return false;
  const std::size_t stage = placed_->replicas[id].stage.value();
  if (!rule_.halves) return started.forwards - started.backwards < rule_.caps[stage];
  const std::int64_t most = started.backwards == 0 ? rule_.halves->warmups[stage] : rule_.caps[stage];
  return started.forwards - started.weights < most;
}

/// The replica whose oldest weight half fills the time of the idle device.
std::optional<ReplicaId> ListRun::weight_of(std::size_t device, Seconds now) const {
  if (!rule_.halves) return std::nullopt;
  for (const ReplicaId id : row_.on[device]) {
    if (started_[id].weights < started_[id].backwards && may_fill(id, now)) return id;
  }
  return std::nullopt;
}

bool ListRun::may_fill(ReplicaId id, Seconds now) const {
  const Started& started = started_[id];
  if (rule_.halves->fill_at_end && started.forwards == board_.count(id)) return true;
  Seconds next = kNever;
  if (has_room(id)) next = board_.arrival({id, started.forwards, false});
  if (started.backwards < started.forwards) next = std::min(next, board_.arrival({id, started.backwards, true}));
  return next - now >= work_->halves[id].weight * rule_.halves->gap;
}

bool ListRun::is_ready(const LocalWork& work, Seconds now) const {
  if (board_.arrival(work) > now) return false;
  return !work.backward || !updates_ || updates_->permits(work, now);
}

ListRun::Rank ListRun::rank_of(const LocalWork& work) const {
  const auto stage = static_cast<std::int64_t>(placed_->replicas[work.replica].stage.value());
  const std::int64_t microbatch = placed_->replicas.microbatch(work.replica, work.local);
  const bool prefers_backward =
      rule_.turn == Turn::Alternating ? started_[work.replica].was_forward : rule_.turn == Turn::Backward;
  const std::int64_t kind = work.backward == prefers_backward ? 0 : 1;
  if (rule_.deepest_first) return {kind, -stage, microbatch};
  return {kind, microbatch, work.backward ? -stage : stage};
}

void ListRun::start(const LocalWork& work, Seconds now) {
  const std::size_t device = row_.position[work.replica];
  const bool waits = work.backward && updates_;
  const Seconds begin = waits ? updates_->begin(work, free_[device], now) : now;
  const ActionKind backward = rule_.halves ? ActionKind::BackwardInput : ActionKind::Backward;
  note(work, work.backward ? backward : ActionKind::Forward, begin);
  Started& started = started_[work.replica];
  ++(work.backward ? started.backwards : started.forwards);
  started.was_forward = !work.backward;
  const bool is_half = work.backward && rule_.halves;
  const Seconds end = begin + (is_half ? work_->halves[work.replica].input : board_.time(work));
  free_[device] = end;
  if (work.backward) end_backward(work, end);
  for (const LocalWork& next : board_.end(work, end)) wake(row_.position[next.replica], board_.arrival(next));
  wake(device, free_[device]);
}

void ListRun::start_weight(ReplicaId id, Seconds now) {
  const LocalWork work{id, started_[id].weights++, true};
  note(work, ActionKind::BackwardWeight, now);
  const std::size_t device = row_.position[id];
  free_[device] = now + work_->halves[id].weight;
  end_backward(work, free_[device]);
  wake(device, free_[device]);
}

void ListRun::note(const LocalWork& work, ActionKind kind, Seconds begin) {
  if (!keeps_orders_) return;
  auto& [start, action] = actions_[row_.position[work.replica]].emplace_back();
  start = begin;
  action.kind = kind;
  action.stage = placed_->replicas[work.replica].stage;
  action.microbatch = placed_->replicas.microbatch(work.replica, work.local);
}

void ListRun::end_backward(const LocalWork& work, Seconds end) {
  const std::uint32_t microbatch = placed_->replicas.microbatch(work.replica, work.local);
  if (ends_.size() <= microbatch) ends_.resize(microbatch + std::size_t{1});
  ends_[microbatch] = std::max(ends_[microbatch], end);
  if (!updates_) return;
  free_[row_.position[work.replica]] = updates_->end(work, end);
  for (const auto& [at, replica] : updates_->released()) wake(row_.position[replica], at);
}

Schedule order_by_list(const std::shared_ptr<const KeptPlan>& kept, const std::shared_ptr<const PipelineWork>& work,
                       const ListRule& rule, std::int64_t microbatches) {
  return ListRun(kept, work, rule, true, microbatches).take(microbatches);
}

ListRun unit_run(const Placement& placement, const ListRule& rule, std::int64_t microbatches) {
  Plan plan;
  for (const Chunk& chunk : placement) plan.stages.emplace_back().replicas = {DeviceId(chunk.device)};
  const auto placed = std::make_shared<const PlacedPlan>(std::move(plan));
  const auto work = std::make_shared<const PipelineWork>(unit_work(*placed, Seconds(2)));
  return {placed, work, rule, true, microbatches};
}

Schedule order_by_rounds(const std::shared_ptr<const KeptPlan>& kept, const std::vector<std::int64_t>& caps,
                         bool synchronous) {
  const auto work = std::make_shared<const PipelineWork>(unit_work(*kept));
  return ListRun(kept, work, {.caps = caps}, synchronous, kept->plan.microbatches).take(kept->plan.microbatches);
}

Schedule order_by_phases(const std::shared_ptr<const KeptPlan>& kept, const std::shared_ptr<const PipelineWork>& work) {
  const std::int64_t microbatches = kept->plan.microbatches;
  ListRule rule{.caps = std::vector(kept->plan.stages.size(), microbatches), .passes = Passes::Forwards};
  Schedule orders = order_by_list(kept, work, rule, microbatches);
  rule.passes = Passes::Backwards;
  Schedule backwards = order_by_list(kept, work, rule, microbatches);
  for (std::size_t device = 0; device < orders.devices.size(); ++device) {
    std::ranges::move(backwards.devices[device].actions, std::back_inserter(orders.devices[device].actions));
  }
  return orders;
}

}  // namespace stagecraft
