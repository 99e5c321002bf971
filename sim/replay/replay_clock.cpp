#include "sim/replay/replay_clock.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft {

ReplayClock::ReplayClock(const Platform& platform, const Events& events, bool may_start)
    : network_(*this, may_start), ways_(platform, events, network_), transfers_(network_, agenda_) {}

void ReplayClock::run(Executor& executor) {
  executor_ = &executor;
  executor.begin();
  happen_until(agenda_.now());
  network_.run();
}

void ReplayClock::complete_at(Start start, Seconds at) {
  agenda_.add(at, Appointment::What::Complete, start.op.value(), start.generation);
}
void ReplayClock::wake_at(std::uint64_t token, Seconds at) { agenda_.add(at, Appointment::What::Wake, token, 0); }

void ReplayClock::start_transfer(Start start, const Op& op, Seconds waited) {
  const Way& way = ways_.of(op);
  const Seconds latency = latency_left(way.latency, waited);
  const Seconds end_alone = agenda_.now() + (latency + op.bytes / way.narrowest);
  if (way.shared.empty() || (op.bytes == Bytes(0) && !way.may_fail)) {
    complete_at(start, end_alone);
  } else {
    transfers_.start(start, op, way, latency, end_alone);
  }
}

void ReplayClock::set_bandwidth(LinkId link, BytesPerSecond bandwidth) {
  transfers_.prepare_change(link);
  ways_.set_bandwidth(link, bandwidth);
}

/// A flow has ended. If the network's date and the date at which the transfer would have ended alone differ only by
/// rounding, the latter is taken: a transfer that was never slowed down then ends exactly when `evaluate` says.
void ReplayClock::on_flow_end(std::uint32_t flow) {
  agenda_.advance(std::max(agenda_.now(), network_.now()));
  const auto [start, end_alone] = transfers_.end_flow(flow);
  Seconds end = network_.now();
  if (std::abs((end - end_alone).value()) <= date_noise(end).value()) end = end_alone;
  if (end > network_.now() && executor_->is_contested()) {  // completed together with everything else of that instant
    complete_at(start, end);
    return;
  }
  agenda_.advance(end);
  transfers_.set_network_time(agenda_.now());
  executor_->complete(start);
}

void ReplayClock::on_alarm() {
  const Seconds alarm = alarms_.back();
  alarms_.pop_back();
  if (alarm < agenda_.now()) {  // stale: the agenda went ahead while the network was empty
    set_alarm();
    return;
  }
  const Seconds network_at = std::max(alarm, network_.now());
  transfers_.set_network_time(network_at);
  transfers_.let_enter();
  happen_until(network_at);
}

void ReplayClock::on_settled() {
  executor_->dispatch();
  happen_until(agenda_.now());
}

/// Handles all dates up to `end`, one after the other, and later ones as long as the network is empty. Where operations
/// compete, dates that differ by rounding are one: the order in which they compete must not depend on it. When an alarm
/// rings, flows that end at the same instant may not have been reported yet. They belong to the same date, so it is not
/// dispatched here; `on_settled` continues from there.
void ReplayClock::happen_until(Seconds end) {
  const auto is_due = [&] {
    return !agenda_.is_empty() && (agenda_.next() <= end || (network_.is_empty() && !transfers_.are_entering()));
  };
  while (is_due()) {
    const Seconds first = agenda_.next();
    const Seconds last = executor_->has_competition() ? first + date_noise(first) : first;
    while (is_due() && agenda_.next() <= last) {
      agenda_.advance(agenda_.next());
      happen(agenda_.take());
    }
    if (network_.has_unreported()) return;
    executor_->dispatch();
  }
  set_alarm();
}

void ReplayClock::happen(const Appointment& appointment) {
  switch (appointment.what) {
    case Appointment::What::Complete: executor_->complete({OpId(appointment.number), appointment.generation}); break;
    case Appointment::What::Wake: executor_->wake(appointment.number); break;
    case Appointment::What::LatencyPaid: transfers_.pay_latency(appointment); break;
    case Appointment::What::LastByte:
      if (const auto start = transfers_.end_alone(appointment)) executor_->complete(*start);
      break;
  }
}

void ReplayClock::set_alarm() {
  if (agenda_.is_empty() && !transfers_.are_entering()) return;
  const Seconds next = transfers_.are_entering() ? agenda_.now() : agenda_.next();
  if (!alarms_.empty() && alarms_.back() <= next) return;
  alarms_.push_back(next);
  network_.set_alarm(next);
}

}  // namespace stagecraft
