#include "sim/engine/executor.hpp"

#include "sim/model/noise.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace stagecraft {

Executor::Executor(const Platform& platform, OpSource source, const Events& events, RunSink sink, Clock& clock)
    : source_(std::move(source)),
      clock_(clock),
      resources_(platform),
      outages_(platform),
      speeds_(platform, events),
      wakes_(clock),
      observations_(platform.devices.size()),
      dispatcher_(operations_, resources_, outages_, wakes_, clock),
      log_(platform, operations_, resources_, std::move(sink)),
      disruptions_(
          {platform, clock, operations_, resources_, outages_, speeds_, wakes_, dispatcher_, log_, observations_},
          events),
      has_competition_(resources_.has_exclusive_links()),
      is_contested_(has_competition_ || !std::ranges::all_of(events, is_noise_from_the_start)) {}

void Executor::begin() {
  disruptions_.begin();
  pull_windows();
  dispatch();
}

void Executor::dispatch() {
  if (wakes_.have_rung()) handle_wakes();
  do {
    while (const auto op = dispatcher_.next()) start(*op);
    pull_windows();
  } while (dispatcher_.has_ready());
}

// A device's next operation may stand in a window that is not loaded yet. So as soon as the last known operation of
// some device has started, the next window is loaded: nothing that could start earlier than that operation's end is
// missed. Devices whose lanes are closed are ignored. If no open lane is left, nothing tells us what a later window
// might start, so every window is loaded.
void Executor::pull_windows() {
  if (observations_.take_news()) pull();
  while (!is_exhausted_ && resources_.need_window()) pull();
}

void Executor::pull() {
  Observation seen = observations_.take(clock_.now());
  if (!seen.down.empty()) {
    seen.unfinished = operations_.least_unfinished();
    seen.giving = operations_.givers();
  }
  const std::optional<OpGraph> window = source_.next(seen);
  is_exhausted_ = !window;
  if (window) load(*window);
}

/// Gives up all operations. Those that run are aborted, and never run again.
void Executor::abandon(std::uint32_t go_on_with) {
  for (std::size_t i = 0; i < log_.started().size(); ++i) {
    const SpanLog::Started& started = log_.started()[i];
    if (started.aborted || !operations_.is_in_state(started.op, Operation::State::Running)) continue;
    const Operation& what = operations_[started.op];
    if (crosses_links(what.op)) clock_.abort_transfer({OpId(started.op), what.generation});
    speeds_.end(started.op);
    log_.abort(i, clock_.now());
  }
  log_.flush();
  operations_.abandon();
  held_ends_ = {};
  resources_.abandon();
  outages_.forget_waiting();
  dispatcher_.abandon();
  observations_.go_back(go_on_with);
}

void Executor::load(const OpGraph& window) {
  if (!window.ops.empty() && window.ops.front().kind == OpKind::Abandon) abandon(window.ops.front().microbatch);
  if (window.ask_again) wakes_.put_off({Wake::Kind::Question, 0}, *window.ask_again);
  for (const Lane& lane : window.new_lanes) {
    resources_.add_lane(lane, !lane.device.is_none() && outages_.is_down(lane.device));
    if (lane.discipline == Discipline::Ready) has_competition_ = is_contested_ = true;
  }
  observations_.add_stages(window.new_stages.size());
  if (!window.extra_lanes.empty()) is_contested_ = true;
  operations_.expect(window);
  std::span<const LaneId> extra_lanes = window.extra_lanes;
  for (std::size_t i = 0; i < window.ops.size(); ++i) {
    const std::uint64_t op = operations_.append(window, i);
    Operation& added = operations_[op];
    if (const OpId last = window.before_end(i); !last.is_none() && !operations_.has_ended(last.value())) {
      held_ends_.add(op, last.value());
    }
    const std::size_t extra = added.op.extra_lanes;
    added.simple = resources_.join(op, added.op, extra_lanes.first(extra));
    extra_lanes = extra_lanes.subspan(extra);
    if (added.missing == 0) dispatcher_.ready().push_back(op);
  }
  for (LaneId lane : window.closed_lanes) resources_.close(lane);
}

void Executor::start(std::uint64_t op) {
  Operation& what = operations_[op];
  if (what.simple) {
    if (!what.op.lane.is_none()) resources_.take(resources_.lane(what.op.lane));
  } else {
    for (Resource* resource : resources_.of(op, what.op)) resources_.take(*resource);
  }
  what.state = Operation::State::Running;
  what.start = clock_.now();
  log_.start(op);
  run(op, what);
  if (!begins_forward(what.op)) return;
  observations_.inject(what.op.microbatch);
  disruptions_.strike_at(what.op.microbatch);
}

/// Asks the clock for the operation's end.
void Executor::run(std::uint64_t op, const Operation& what) {
  const Start start{OpId(op), what.generation};
  const Seconds now = clock_.now();
  if (is_compute(what.op.kind)) {
    clock_.complete_at(start, speeds_.start(op, what.op, resources_.further_devices(op, what.op), now));
  } else if (crosses_links(what.op)) {
    const bool has_waited = what.simple && what.generation == 0 && resources_.is_connection(what.op.lane);
    clock_.start_transfer(start, what.op, has_waited ? now - what.ready_at : Seconds(0));
  } else {  // a transfer within one place takes no time
    const bool is_within = is_transfer(what.op.kind) && !what.op.literal;
    clock_.complete_at(start, is_within ? now : now + what.op.seconds);
  }
}

void Executor::complete(Start done) {
  const std::uint64_t op = done.op.value();
  if (!operations_.is_in_state(op, Operation::State::Running)) return;
  const Operation& what = operations_[op];
  if (what.generation != done.generation) return;  // it belongs to an earlier start, or an event has changed its end
  if (outlasts_last(what.op) && held_ends_.hold(done)) return;
  operations_.complete(op, clock_.now(), dispatcher_.ready());
  speeds_.end(op);
  observations_.end(what.op, what.end - what.start);
  if (what.simple) {
    if (!what.op.lane.is_none()) dispatcher_.release(resources_.lane(what.op.lane));
  } else {
    for (Resource* resource : resources_.of(op, what.op)) dispatcher_.release(*resource);
    resources_.forget_links(op);
  }
  log_.flush();
  if (const std::optional<Start> released = held_ends_.release(op)) complete(*released);
}

/// Handles the wakes of this instant. All completions of the instant have been reported before.
void Executor::handle_wakes() {
  for (const Wake& wake : wakes_.take_rung()) {
    switch (wake.kind) {
      case Wake::Kind::Event: disruptions_.strike(wake.what); break;
      case Wake::Kind::NotBefore: reconsider(wake.what); break;
      case Wake::Kind::Question: observations_.tell(); break;
      case Wake::Kind::Departure: disruptions_.leave(DeviceId(wake.what)); break;
      case Wake::Kind::LinkRecovery: disruptions_.recover(LinkId(wake.what)); break;
      case Wake::Kind::Recovery:
        for (std::uint64_t op : disruptions_.recover(DeviceId(wake.what))) reconsider(op);
        break;
    }
  }
}

void Executor::reconsider(std::uint64_t op) {
  if (operations_.holds(op) && dispatcher_.consider(op)) start(op);
}

}  // namespace stagecraft
