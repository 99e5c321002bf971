#include "sim/engine/executor.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {

void Executor::wake_later(Wake wake, Seconds at) {
  wakes_.emplace(next_token_, wake);
  clock_.wake_at(next_token_++, at);
}

void Executor::wake(std::uint64_t token) {
  const auto found = wakes_.find(token);
  if (found == wakes_.end()) return;
  const Wake wake = found->second;
  wakes_.erase(found);
  switch (wake.kind) {
    case Wake::Kind::Fire: fire(events_[wake.what]); break;
    case Wake::Kind::NotBefore: consider(wake.what); break;
    case Wake::Kind::Recover: recover(DeviceId(wake.what)); break;
  }
}

void Executor::schedule_events() {
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (!events_[i].at_microbatch) wake_later({Wake::Kind::Fire, i}, events_[i].at);
  }
}

void Executor::fire(const Event& event) {
  std::visit([this](const auto& change) { apply(change); }, event.change);
}

/// The rest of a running computation takes the new factor; its old completion goes stale with its generation.
void Executor::apply(const Slowdown& change) {
  const double before = std::exchange(slowdown_[change.device.value()], change.factor);
  for (const Started& started : started_) {
    Slot& slot = slots_[started.op];
    if (started.aborted || slot.state != State::Running || !is_compute(slot.op.kind)) continue;
    if (slot.op.from != platform_.place(change.device)) continue;
    const Seconds now = clock_.now();
    slot.work_left -= (now - slot.work_at) / before;
    slot.work_at = now;
    ++slot.generation;
    clock_.complete_at({OpId(started.op), slot.generation}, now + slot.work_left * change.factor);
  }
}

void Executor::apply(const BandwidthChange& change) { clock_.set_bandwidth(change.link, change.bandwidth); }

void Executor::apply(const Failure& change) {
  const PlaceId place = platform_.place(change.device);
  device_down_[change.device.value()] = 1;
  for (Resource& lane : lanes_) {
    if (lane.device == change.device) lane.down = true;
  }
  const std::size_t count = started_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t op = started_[i].op;
    const Slot& slot = slots_[op];
    if (started_[i].aborted || slot.state != State::Running) continue;
    const bool affected = (is_compute(slot.op.kind) || is_transfer(slot.op.kind)) && !slot.op.literal &&
                          (slot.op.from == place || slot.op.to == place);
    if (!affected) continue;
    started_[i].aborted = true;
    started_[i].span = {OpId(op), slot.start, clock_.now(), slot.cause_start, slot.cause, true};
    abort(op);
  }
  wake_later({Wake::Kind::Recover, change.device.value()}, clock_.now() + change.duration);
  flush();
}

/// Puts a running operation back to the front of its lanes, ready to start again.
void Executor::abort(std::uint64_t op) {
  Slot& slot = slots_[op];
  if (is_transfer(slot.op.kind)) clock_.abort_transfer({OpId(op), slot.generation});
  ++slot.generation;
  slot.state = State::Ready;
  collect_resources(op);
  for (Resource* resource : scratch_) {
    if (resource->discipline == Discipline::Strict) resource->queue.push_front(op);
    if (resource->unstarted++ == 0 && !resource->device.is_none()) --starved_lanes_;
    release(*resource);
  }
  ready_again_.push_back(op);
}

void Executor::recover(DeviceId device) {
  device_down_[device.value()] = 0;
  for (Resource& lane : lanes_) {
    if (lane.device != device) continue;
    lane.down = false;
    freed_.push_back(&lane);
  }
  for (std::uint64_t op : std::exchange(held_[device.value()], {})) consider(op);
}

/// A transfer from or to a device that is down waits for its recovery.
bool Executor::is_held_by_failure(std::uint64_t op) {
  const Op& what = slots_[op].op;
  for (PlaceId place : {what.from, what.to}) {
    if (place.is_none() || !platform_.is_device(place)) continue;
    const DeviceId device = platform_.device(place);
    if (device_down_[device.value()] == 0) continue;
    held_[device.value()].push_back(op);
    return true;
  }
  return false;
}

}  // namespace stagecraft
