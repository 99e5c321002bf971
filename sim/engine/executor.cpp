#include "sim/engine/executor.hpp"

#include "sim/base/error.hpp"
#include "sim/model/noise.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {

Executor::Executor(const Platform& platform, OpSource source, const Events& events, SpanSink sink, Clock& clock)
    : platform_(platform),
      source_(std::move(source)),
      events_(events),
      sink_(std::move(sink)),
      clock_(clock),
      slowdown_(platform.devices.size(), 1.0),
      held_(platform.devices.size()),
      failures_(platform.devices.size()) {
  edges_.push_back({});  // position 0 ends a list
  has_exclusive_links_ =
      std::ranges::any_of(platform.links, [](const Link& link) { return link.sharing == Sharing::Exclusive; });
  if (has_exclusive_links_) links_.resize(platform.links.size());
  speeds_change_ =
      std::ranges::any_of(events_, [](const Event& event) { return std::holds_alternative<Slowdown>(event.change); });
  contested_run_ = has_exclusive_links_ || !std::ranges::all_of(events, is_noise_from_the_start);
}

void Executor::begin() {
  schedule_events();
  pull_while_starved();
  dispatch();
}

void Executor::complete(Start done) {
  Slot& slot = slots_[done.op.value()];
  if (done.op.value() < slots_.begin() || slot.generation != done.generation || slot.state != State::Running) return;
  slot.state = State::Done;
  slot.end = clock_.now();
  --unfinished_;
  if (speeds_change_) works_.erase(done.op.value());
  notice_end(slot);
  if (slot.simple) {
    if (!slot.op.lane.is_none()) release(lanes_[slot.op.lane.value()]);
  } else {
    collect_resources(done.op.value());
    for (Resource* resource : scratch_) release(*resource);
    if (has_exclusive_links_) exclusive_.erase(done.op.value());
  }
  for (std::uint64_t edge = slot.successors; edge != 0; edge = edges_[edge].next) {
    const std::uint64_t next = edges_[edge].successor;
    Slot& successor = slots_[next];
    note_cause(successor, slot, done.op.value());
    if (--successor.missing == 0) ready_.push_back(next);
  }
  flush();
}

void Executor::dispatch() {
  wake_up();
  do {
    while (!ready_.empty() || !ready_again_.empty() || !freed_.empty() || !contested_.empty()) {
      consider_ready();
      if (contested_.empty()) continue;
      const std::uint64_t op = contested_.top().op;
      contested_.pop();
      try_contested(op);
    }
    pull_while_starved();
  } while (!ready_.empty());
}

/// Everything that has become ready, and what the freed resources turn to next. Starts may add to the lists on the way.
void Executor::consider_ready() {
  for (std::size_t i = 0; i < ready_.size(); ++i) {  // NOLINT(modernize-loop-convert): it may grow
    Slot& slot = slots_[ready_[i]];
    slot.state = State::Ready;
    slot.ready_at = std::max(clock_.now(), slot.op.not_before);
    if (slot.op.not_before > clock_.now()) {
      wake_later({Wake::Kind::NotBefore, ready_[i]}, slot.op.not_before);
    } else {
      consider(ready_[i]);
    }
  }
  ready_.clear();
  for (std::uint64_t op : std::exchange(ready_again_, {})) consider(op);
  for (std::size_t i = 0; i < freed_.size(); ++i) offer(*freed_[i]);  // NOLINT(modernize-loop-convert): it may grow
  freed_.clear();
}

/// Starts a ready operation that may start at once; one that others compete with is put in line for `try_contested`.
void Executor::consider(std::uint64_t op) {
  const Slot& slot = slots_[op];
  if (slot.state != State::Ready || slot.op.not_before > clock_.now()) return;
  const Resource* lane = slot.op.lane.is_none() ? nullptr : &lanes_[slot.op.lane.value()];
  if (!slot.simple || (lane != nullptr && lane->discipline == Discipline::Ready)) {
    contested_.push({slot.op.priority, slot.ready_at, op});
    return;
  }
  // With at most one strict lane it competes with nobody: it starts now or when it has come to the front.
  if (lane != nullptr && (!lane->is_free() || lane->queue.front() != op)) return;
  if (!is_held_by_failure(op)) start(op);
}

void Executor::collect_resources(std::uint64_t op) {
  scratch_.clear();
  const Slot& slot = slots_[op];
  if (!slot.op.lane.is_none()) scratch_.push_back(&lanes_[slot.op.lane.value()]);
  if (slot.op.extra_lanes > 0) {
    for (LaneId lane : extra_lanes_.at(op)) scratch_.push_back(&lanes_[lane.value()]);
  }
  if (!has_exclusive_links_) return;
  const auto links = exclusive_.find(op);
  if (links == exclusive_.end()) return;
  for (LinkId link : links->second) scratch_.push_back(&links_[link.value()]);
}

void Executor::try_contested(std::uint64_t op) {
  if (!is_waiting(op)) return;
  const Slot& slot = slots_[op];
  collect_resources(op);
  const bool behind_others = std::ranges::any_of(scratch_, [op](const Resource* resource) {
    return resource->discipline == Discipline::Strict && resource->queue.front() != op;
  });
  Resource* held_up_by = nullptr;
  for (Resource* resource : scratch_) {
    if (!resource->is_free()) held_up_by = resource;
  }
  if (!behind_others && held_up_by == nullptr && !is_held_by_failure(op)) {
    start(op);
    return;
  }
  // Behind others on a strict lane, or held up by one: considered again at its front.
  if (!behind_others && held_up_by != nullptr && held_up_by->discipline == Discipline::Ready) {
    held_up_by->waiters.push({slot.op.priority, slot.ready_at, op});
  }
  for (Resource* resource : scratch_) {  // what it leaves free may serve the next in line
    if (resource->is_free() && resource->discipline == Discipline::Ready) offer(*resource);
  }
}

/// A free resource turns to its next operation.
void Executor::offer(Resource& resource) {
  if (!resource.is_free()) return;
  if (resource.discipline == Discipline::Strict) {
    if (!resource.queue.empty()) consider(resource.queue.front());
    return;
  }
  while (!resource.waiters.empty() && !is_waiting(resource.waiters.top().op)) resource.waiters.pop();
  if (resource.waiters.empty()) return;
  contested_.push(resource.waiters.top());
  resource.waiters.pop();
}

bool Executor::is_waiting(std::uint64_t op) const { return op >= slots_.begin() && slots_[op].state == State::Ready; }

void Executor::take(Resource& resource) {
  resource.busy = true;
  if (resource.discipline == Discipline::Strict) resource.queue.pop_front();
  if (resource.unstarted > 0 && --resource.unstarted == 0 && resource.is_open()) ++starved_lanes_;
}

void Executor::release(Resource& resource) {
  resource.busy = false;
  freed_.push_back(&resource);
}

void Executor::start(std::uint64_t op) {
  Slot& slot = slots_[op];
  if (slot.simple) {
    if (!slot.op.lane.is_none()) take(lanes_[slot.op.lane.value()]);
  } else {
    collect_resources(op);
    for (Resource* resource : scratch_) take(*resource);
  }
  slot.state = State::Running;
  slot.start = clock_.now();
  started_.push_back({op, false, {}});
  run(op, slot);
  notice_start(slot);
}

void Executor::run(std::uint64_t op, Slot& slot) {
  const Start start{OpId(op), slot.generation};
  const Op& what = slot.op;
  if (is_compute(what.kind)) {
    const double slowdown = slowdown_of(op);
    const Seconds nominal = nominal_time(what);
    if (speeds_change_) works_[op] = {nominal, clock_.now(), slowdown};
    clock_.complete_at(start, clock_.now() + nominal * slowdown);
  } else if (crosses_links(what)) {
    clock_.start_transfer(start, what);
  } else {  // a transfer within one place takes no time
    const bool within = is_transfer(what.kind) && !what.literal;
    clock_.complete_at(start, within ? clock_.now() : clock_.now() + what.seconds);
  }
}

/// Reports what has ended, in the order of the starts, and forgets what nobody needs any more.
void Executor::flush() {
  while (!started_.empty()) {
    const Started& front = started_.front();
    if (!front.aborted && slots_[front.op].state != State::Done) break;
    report(front);
    if (!front.aborted) slots_[front.op].reported = true;
    started_.pop_front();
  }
  std::uint64_t oldest = slots_.begin();
  for (; oldest < slots_.end() && slots_[oldest].reported; ++oldest) {
    edges_.drop_before(edges_.begin() + slots_[oldest].edges);
    deltas_.drop_before(slots_[oldest].delta_end);
  }
  slots_.drop_before(oldest);
}

Span Executor::span_of(std::uint64_t op, Seconds end, bool aborted) const {
  const Slot& slot = slots_[op];
  return {OpId(op), slot.start, end, slot.cause_start, slot.cause_end, slot.cause, aborted};
}

void Executor::report(const Started& started) {
  const Slot& slot = slots_[started.op];
  const Span span = started.aborted ? started.span : span_of(started.op, slot.end, false);
  const std::uint64_t begin = started.op == slots_.begin() ? deltas_.begin() : slots_[started.op - 1].delta_end;
  const std::size_t count = slot.delta_end - begin;
  const MemoryDelta* deltas = count == 0 ? nullptr : deltas_.run(begin, slot.delta_end);
  if (count > 0 && deltas == nullptr) {
    report_.clear();
    for (std::uint64_t i = begin; i < slot.delta_end; ++i) report_.push_back(deltas_[i]);
    deltas = report_.data();
  }
  sink_(span, slot.op, {deltas, count});
  if (slot.op.extra_lanes == 0) return;
  for (LaneId lane : extra_lanes_.at(started.op)) {
    const DeviceId device = lanes_[lane.value()].device;
    if (device.is_none()) continue;
    Op there = slot.op;
    there.from = there.to = platform_.place(device);
    sink_(span, there, {});
  }
  if (!started.aborted) extra_lanes_.erase(started.op);
}

void Executor::notice_start(const Slot& slot) {
  if (slot.op.kind != OpKind::Forward && slot.op.kind != OpKind::ForwardBackward) return;
  const std::uint32_t microbatch = slot.op.microbatch;
  observation_.microbatches_injected = std::max(observation_.microbatches_injected, microbatch + 1);
  auto event = microbatch_events_.find(microbatch);
  while (event != microbatch_events_.end() && event->first == microbatch) {
    fire(events_[event->second]);
    event = microbatch_events_.erase(event);
  }
}

void Executor::notice_end(const Slot& slot) {
  if (!is_compute(slot.op.kind) || slot.op.stage.is_none()) return;
  if (!observation_.stages.contains(slot.op.stage)) observation_.stages.resize(slot.op.stage.value() + 1);
  StageObservation& stage = observation_.stages[slot.op.stage];
  if (slot.op.kind == OpKind::Forward) {
    ++stage.forwards;
    stage.forward_time += slot.end - slot.start;
  } else if (slot.op.kind == OpKind::Backward || slot.op.kind == OpKind::BackwardInput) {
    ++stage.backwards;
    stage.backward_time += slot.end - slot.start;
  } else if (slot.op.kind == OpKind::BackwardWeight) {
    stage.backward_time += slot.end - slot.start;
  }
}

}  // namespace stagecraft
