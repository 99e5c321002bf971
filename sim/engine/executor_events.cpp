#include "sim/engine/executor.hpp"
#include "sim/model/noise.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {

void Executor::wake_later(Wake wake, Seconds at) {
  wakes_.emplace(next_token_, wake);
  clock_.wake_at(next_token_++, at);
}

void Executor::wake(std::uint64_t token) { woken_.push_back(token); }

/// Does what was put off until now, after all that ends now and in the order in which it was put off.
void Executor::wake_up() {
  std::ranges::sort(woken_);
  for (std::uint64_t token : woken_) {
    const auto found = wakes_.find(token);
    if (found == wakes_.end()) continue;
    const Wake wake = found->second;
    wakes_.erase(found);
    switch (wake.kind) {
      case Wake::Kind::Fire: fire(events_[wake.what]); break;
      case Wake::Kind::NotBefore: consider(wake.what); break;
      case Wake::Kind::Recover: recover(DeviceId(wake.what)); break;
    }
  }
  woken_.clear();
}

void Executor::schedule_events() {
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (events_[i].at_microbatch) {
      microbatch_events_.emplace(*events_[i].at_microbatch, i);
    } else if (events_[i].at <= clock_.now()) {
      fire(events_[i]);
    } else {
      wake_later({Wake::Kind::Fire, i}, events_[i].at);
    }
  }
}

void Executor::fire(const Event& event) {
  std::visit([this](const auto& change) { apply(change); }, event.change);
}

/// The rest of a running computation takes the new factor; its old completion goes stale with its generation.
void Executor::apply(const Slowdown& change) {
  slowdown_[change.device.value()] = change.factor;
  for (const Started& started : started_) {
    Slot& slot = slots_[started.op];
    if (started.aborted || slot.state != State::Running || !is_compute(slot.op.kind)) continue;
    if (!involves(started.op, change.device)) continue;
    const Seconds now = clock_.now();
    Work& work = works_.at(started.op);
    work = {std::max(Seconds(0), work.left - (now - work.at) / work.slowdown), now, slowdown_of(started.op)};
    ++slot.generation;
    clock_.complete_at({OpId(started.op), slot.generation}, now + work.left * work.slowdown);
  }
}

void Executor::apply(const BandwidthChange& change) { clock_.set_bandwidth(change.link, change.bandwidth); }

void Executor::apply(const Failure& change) {
  ++failures_[change.device.value()];
  ++failures_now_;
  for (Resource& lane : lanes_) {
    if (lane.device == change.device) lane.down = true;
  }
  const std::size_t count = started_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t op = started_[i].op;
    const Slot& slot = slots_[op];
    if (started_[i].aborted || slot.state != State::Running) continue;
    if (!is_compute(slot.op.kind) && !is_transfer(slot.op.kind)) continue;
    if (!involves(op, change.device)) continue;
    started_[i].aborted = true;
    started_[i].span = span_of(op, clock_.now(), true);
    abort(op);
  }
  wake_later({Wake::Kind::Recover, change.device.value()}, clock_.now() + change.duration);
  flush();
}

/// What starts at this very instant starts after the event, and so has its noise.
void Executor::apply(const Jitter& change) {
  jitter_ = change;
  for (const Started& started : started_) {
    Slot& slot = slots_[started.op];
    if (started.aborted || slot.state != State::Running || !is_compute(slot.op.kind)) continue;
    if (slot.start != clock_.now()) continue;
    ++slot.generation;
    run(started.op, slot);
  }
}

/// Puts a running operation back to the front of its lanes, ready to start again.
void Executor::abort(std::uint64_t op) {
  Slot& slot = slots_[op];
  if (crosses_links(slot.op)) clock_.abort_transfer({OpId(op), slot.generation});
  ++slot.generation;
  slot.state = State::Ready;
  collect_resources(op);
  for (Resource* resource : scratch_) {
    if (resource->discipline == Discipline::Strict) resource->queue.push_front(op);
    if (resource->unstarted++ == 0 && resource->is_open()) --starved_lanes_;
    release(*resource);
  }
  ready_again_.push_back(op);
}

void Executor::recover(DeviceId device) {
  --failures_now_;
  if (--failures_[device.value()] > 0) return;
  for (Resource& lane : lanes_) {
    if (lane.device != device) continue;
    lane.down = false;
    freed_.push_back(&lane);
  }
  for (std::uint64_t op : std::exchange(held_[device.value()], {})) consider(op);
}

/// A transfer from or to a device that is down waits for its recovery.
bool Executor::is_held_by_failure(std::uint64_t op) {
  if (failures_now_ == 0) return false;
  const Op& what = slots_[op].op;
  for (PlaceId place : {what.from, what.to}) {
    if (place.is_none() || !platform_.is_device(place)) continue;
    const DeviceId device = platform_.device(place);
    if (failures_[device.value()] == 0) continue;
    held_[device.value()].push_back(op);
    return true;
  }
  return false;
}

/// Whether the operation computes on the device, or sends from or to it.
bool Executor::involves(std::uint64_t op, DeviceId device) const {
  const Op& what = slots_[op].op;
  const PlaceId place = platform_.place(device);
  if (what.from == place || what.to == place) return true;
  return what.extra_lanes > 0 &&
         std::ranges::any_of(extra_lanes_.at(op), [&](LaneId lane) { return lanes_[lane.value()].device == device; });
}

/// Noise included, at the device's nominal speed.
Seconds Executor::nominal_time(const Op& op) const {
  return jitter_ ? op.seconds * noise_factor(*jitter_, op, platform_.device(op.from)) : op.seconds;
}

/// The slowest of the devices that a computation occupies sets its pace.
double Executor::slowdown_of(std::uint64_t op) const {
  const Op& what = slots_[op].op;
  double slowest = slowdown_[what.from.value()];
  if (what.extra_lanes == 0) return slowest;
  for (LaneId lane : extra_lanes_.at(op)) {
    const DeviceId device = lanes_[lane.value()].device;
    if (!device.is_none()) slowest = std::max(slowest, slowdown_[device.value()]);
  }
  return slowest;
}

}  // namespace stagecraft
