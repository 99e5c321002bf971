#include "sim/engine/disruptions.hpp"

#include <algorithm>
#include <variant>

namespace stagecraft {

void Disruptions::begin() {
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (events_[i].at_microbatch) {
      at_microbatch_.emplace(*events_[i].at_microbatch, i);
    } else if (events_[i].at <= run_.clock.now()) {
      strike(i);
    } else {
      run_.wakes.put_off({Wake::Kind::Event, i}, events_[i].at);
    }
  }
}

void Disruptions::strike(std::uint64_t event) {
  run_.log.strike(static_cast<std::uint32_t>(event), events_[event], run_.clock.now());
  std::visit([this](const auto& change) { this->apply(change); }, events_[event].change);
}

void Disruptions::strike_at(std::uint32_t microbatch) {
  auto event = at_microbatch_.find(microbatch);
  while (event != at_microbatch_.end() && event->first == microbatch) {
    strike(event->second);
    event = at_microbatch_.erase(event);
  }
}

/// The rest of a running computation takes the new factor. Its generation changes, so its old completion is ignored.
void Disruptions::apply(const Slowdown& change) {
  run_.speeds.set_slowdown(change.device, change.factor);
  for (const SpanLog::Started& started : run_.log.started()) {
    Operation& what = run_.operations[started.op];
    if (!is_running(started) || !is_compute(what.op.kind) || !involves(started.op, change.device)) continue;
    ++what.generation;
    const auto further = run_.resources.further_devices(started.op, what.op);
    const Seconds end = run_.speeds.resume(started.op, what.op, further, run_.clock.now());
    run_.clock.complete_at({OpId(started.op), what.generation}, end);
  }
}

void Disruptions::apply(const BandwidthChange& change) {
  run_.clock.set_bandwidth(change.link, change.bandwidth);
  run_.observations.change(change.link, change.bandwidth);
}

/// Operations take no notice: whoever sums up memory judges by the limit.
void Disruptions::apply(const MemoryLimit& change) { run_.observations.change(change.device, change.memory); }

void Disruptions::apply(const Failure& change) {
  run_.outages.begin(change.device);
  run_.observations.fail(change.device, run_.clock.now());
  run_.resources.set_down(change.device, true);
  for (std::size_t i = 0; i < run_.log.started().size(); ++i) {
    const SpanLog::Started& started = run_.log.started()[i];
    const OpKind kind = run_.operations[started.op].op.kind;
    if (!is_compute(kind) && !is_transfer(kind) && kind != OpKind::Save) continue;
    if (!is_running(started) || !involves(started.op, change.device)) continue;
    run_.log.abort(i, run_.clock.now());
    abort(started.op);
  }
  run_.wakes.put_off({Wake::Kind::Recovery, change.device.value()}, run_.clock.now() + change.duration);
  run_.log.flush();
}

/// Failures of one link may overlap.
void Disruptions::apply(const LinkFailure& change) {
  if (failures_[change.link]++ == 0) run_.clock.set_down(change.link, true);
  run_.wakes.put_off({Wake::Kind::LinkRecovery, change.link.value()}, run_.clock.now() + change.duration);
}

/// **Requires** a time that is still to come.
void Disruptions::apply(const Departure& change) {
  run_.observations.announce(change.device, change.leaves_at);
  run_.wakes.put_off({Wake::Kind::Departure, change.device.value()}, change.leaves_at);
}

void Disruptions::apply(const Jitter& change) {
  run_.speeds.set_noise(change);
  restart_computations();
}

void Disruptions::apply(const MicrobatchWork& change) {
  run_.speeds.set_work(change);
  restart_computations();
}

/// A computation that starts at the instant of an event starts after it. So computations that have already been started
/// at this instant take their new time.
void Disruptions::restart_computations() {
  const Seconds now = run_.clock.now();
  for (const SpanLog::Started& started : run_.log.started()) {
    Operation& what = run_.operations[started.op];
    if (!is_running(started) || !is_compute(what.op.kind) || what.start != now) continue;
    ++what.generation;
    const auto further = run_.resources.further_devices(started.op, what.op);
    run_.clock.complete_at({OpId(started.op), what.generation}, run_.speeds.start(started.op, what.op, further, now));
  }
}

/// Puts a running operation back to the front of its lanes, ready to start again.
void Disruptions::abort(std::uint64_t op) {
  Operation& what = run_.operations[op];
  if (crosses_links(what.op)) run_.clock.abort_transfer({OpId(op), what.generation});
  ++what.generation;
  what.state = Operation::State::Ready;
  for (Resource* resource : run_.resources.of(op, what.op)) {
    run_.resources.put_back(*resource, op);
    run_.dispatcher.release(*resource);
  }
  run_.dispatcher.return_to(op);
}

std::vector<std::uint64_t> Disruptions::recover(DeviceId device) {
  if (!run_.outages.end(device)) return {};
  run_.observations.recover(device);
  for (Resource* lane : run_.resources.set_down(device, false)) run_.dispatcher.note_freed(*lane);
  return run_.outages.release(device);
}

void Disruptions::recover(LinkId link) {
  if (--failures_[link] == 0) run_.clock.set_down(link, false);
}

bool Disruptions::is_running(const SpanLog::Started& started) const {
  return !started.aborted && run_.operations[started.op].state == Operation::State::Running;
}

/// Whether the operation computes on the device, or sends from or to it.
bool Disruptions::involves(std::uint64_t op, DeviceId device) const {
  const Op& what = run_.operations[op].op;
  const PlaceId place = run_.platform.place(device);
  if (what.from == place || what.to == place) return true;
  const auto further = run_.resources.further_devices(op, what);
  return std::ranges::find(further, device) != further.end();
}

}  // namespace stagecraft
