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
  while (!is_exhausted_ && resources_.need_window()) {
    if (const std::optional<OpGraph> window = source_.next(observations_.take(clock_.now()))) {
      load(*window);
    } else {
      is_exhausted_ = true;
    }
  }
}

void Executor::load(const OpGraph& window) {
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
  if (what.op.kind != OpKind::Forward && what.op.kind != OpKind::ForwardBackward) return;
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
    clock_.start_transfer(start, what.op);
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
}

/// Handles the wakes of this instant. All completions of the instant have been reported before.
void Executor::handle_wakes() {
  for (const Wake& wake : wakes_.take_rung()) {
    switch (wake.kind) {
      case Wake::Kind::Event: disruptions_.strike(wake.what); break;
      case Wake::Kind::NotBefore: reconsider(wake.what); break;
      case Wake::Kind::Recovery:
        for (std::uint64_t op : disruptions_.recover(DeviceId(wake.what))) reconsider(op);
        break;
    }
  }
}

void Executor::reconsider(std::uint64_t op) {
  if (dispatcher_.consider(op)) start(op);
}

}  // namespace stagecraft
