#include "sim/engine/device_fold.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <limits>

namespace stagecraft {
namespace {

constexpr std::uint32_t kUnused = std::numeric_limits<std::uint32_t>::max();

}  // namespace

DeviceFold::DeviceFold(std::size_t device_count) : position_of_(device_count, kUnused) {}

DeviceFold::DeviceState& DeviceFold::join(DeviceId device, Seconds iteration_begin, MeasuredSums& sums) {
  std::uint32_t& position = position_of_[device.value()];
  if (position == kUnused) {
    position = static_cast<std::uint32_t>(devices_.size());
    DeviceState& state = devices_.emplace_back();
    state.device = device;
    state.accounts = sums.open_accounts(kAccounts);
    state.last_end = iteration_begin;
  }
  return devices_[position];
}

void DeviceFold::announce(const OpGraph& window, Seconds iteration_begin, MeasuredSums& sums) {
  for (const Lane& lane : window.new_lanes) {
    if (!lane.device.is_none()) join(lane.device, iteration_begin, sums);
  }
  for (const RunStage& stage : window.new_stages) {
    const StageId id(stage_account_.size());
    stage_account_.push_back(sums.open_accounts(1));
    for (DeviceId device : stage.devices) join(device, iteration_begin, sums).stages.push_back(id);
  }
}

std::uint32_t DeviceFold::position(PlaceId place) const {
  const std::uint32_t position = position_of_[place.value()];
  STAGECRAFT_CHECK(position != kUnused, "what computes or takes part in a collective is a device of some window");
  return position;
}

DeviceFold::Account DeviceFold::account_of(OpKind kind) {
  switch (kind) {
    case OpKind::Recompute: return kRecompute;
    case OpKind::Update: return kUpdate;
    case OpKind::Exchange: return kExchange;
    default: return kCompute;
  }
}

void DeviceFold::add_computation(const Span& span, const Op& op, MeasuredSums& sums) {
  DeviceState& device = devices_[position(op.from)];
  const Seconds idle = span.start > device.last_end ? add_gap(device, span, sums) : Seconds(0);
  settle_idle(device, span, op.kind, idle, sums);
  device.first_start = std::min(device.first_start, span.start);
  device.last_end = span.end;
  device.past.forget_until(span.end);
  const double seconds = (span.end - span.start).value();
  sums.add({device.accounts + account_of(op.kind), span.start, span.end, seconds});
  if (!op.stage.is_none()) {
    STAGECRAFT_CHECK(op.stage.value() < stage_account_.size(), "a window has announced the stage");
    sums.add({stage_account_[op.stage.value()], span.start, span.end, seconds});
  }
  if (begins_forward(op)) {
    device.in_flight_peak = std::max(device.in_flight_peak, device.in_flight + 1);
    if (!span.aborted) ++device.in_flight;
  }
  if (span.aborted) return;
  if (op.closes) --device.in_flight;
}

/// Counts idle time before a computation as communication if a transfer was the last thing that it waited for: the part
/// of the gap during which that transfer was under way. If a collective was, the part counts during which the device
/// took part in one. Returns the rest of the gap.
Seconds DeviceFold::add_gap(const DeviceState& device, const Span& span, MeasuredSums& sums) {
  const Seconds gap = span.start - device.last_end;
  if (span.cause == OpKind::CollectiveEnd) return gap - add_in_collectives(device, device.last_end, span.start, sums);
  if (!is_transfer(span.cause)) return gap;
  const Seconds begin = std::max(device.last_end, span.cause_start);
  const Seconds end = std::min(span.start, span.cause_end);
  if (begin >= end) return gap;
  sums.add({device.accounts + kExposed, begin, end, (end - begin).value()});
  return gap - (end - begin);
}

/// Idle time before a computation is steady, not in a ramp, if the iteration has had a backward here and has another
/// forward, that one or a later one.
void DeviceFold::settle_idle(DeviceState& device, const Span& span, OpKind kind, Seconds idle, MeasuredSums& sums) {
  const bool is_forward = kind == OpKind::Forward || kind == OpKind::ForwardBackward;
  if (device.has_backward) device.unsettled_idle += idle;
  if (is_forward) {
    sums.add({device.accounts + kSteadyIdle, span.start, span.end, device.unsettled_idle.value()});
    device.unsettled_idle = Seconds(0);
  }
  if (kind == OpKind::Backward || kind == OpKind::BackwardInput || kind == OpKind::ForwardBackward)
    device.has_backward = true;
}

/// Counts the part of an idle time during which the device took part in a collective: as waiting, less what it spent
/// sending and receiving, which always lies within. Returns that part.
Seconds DeviceFold::add_in_collectives(const DeviceState& device, Seconds begin, Seconds end, MeasuredSums& sums) {
  Seconds whole;
  for (const auto& [from, to] : device.past.stays.covered(begin, end)) {
    whole += to - from;
    sums.add({device.accounts + kCollectiveWait, from, to, (to - from).value()});
  }
  for (const auto& [from, to] : device.past.exchanges.covered(begin, end)) {
    sums.add({device.accounts + kAllReduce, from, to, (to - from).value()});
    sums.add({device.accounts + kCollectiveWait, from, to, (from - to).value()});
  }
  return whole;
}

void DeviceFold::add_exchange(const Span& span, const Op& flow) {
  const std::uint32_t sender = position(flow.from);
  devices_[sender].past.exchanges.add({span.start, span.end});
  devices_[position(flow.to)].past.exchanges.add({span.start, span.end});
  collectives_.add_member(flow, sender);
}

/// All members are in the collective from its first begin to its end.
void DeviceFold::add_collective_mark(const Span& span, const Op& mark) {
  if (mark.kind == OpKind::CollectiveBegin) {
    collectives_.begin(mark, span);
    return;
  }
  const Collective ended = collectives_.end(mark);
  for (std::uint32_t member : ended.members) {
    CollectivePast& past = devices_[member].past;
    past.stays.add({ended.begin, span.end});
    for (const TimeInterval& latency : ended.latencies) past.exchanges.add(latency);
  }
}

/// The idle time after a device's last computation counts too, as far as it took part in collectives.
void DeviceFold::end_iteration(Seconds at, MeasuredSums& sums) {
  for (DeviceState& device : devices_) {
    add_in_collectives(device, device.last_end, at, sums);
    device.extent = std::max(device.last_end - device.first_start, Seconds(0));
    device.first_start = kNever;
    device.last_end = at;
    device.past.clear();
    device.has_backward = false;
    device.unsettled_idle = Seconds(0);
  }
}

void DeviceFold::abandon() {
  collectives_ = {};
  for (DeviceState& device : devices_) {
    device.in_flight = 0;
    device.past.clear();
    device.has_backward = false;
    device.unsettled_idle = Seconds(0);
  }
}

std::vector<DeviceReport> DeviceFold::report(const MeasuredSums& sums, Seconds window, bool has_iterations) const {
  std::vector<DeviceReport> reports;
  for (std::uint32_t position : position_of_) {
    if (position != kUnused) reports.push_back(report_of(devices_[position], sums, window, has_iterations));
  }
  return reports;
}

DeviceReport DeviceFold::report_of(const DeviceState& device, const MeasuredSums& sums, Seconds window,
                                   bool has_iterations) const {
  const auto time = [&](Account account) { return Seconds(sums.sum(device.accounts + account)); };
  DeviceReport report;
  report.device = device.device;
  report.stages = device.stages;
  for (StageId stage : device.stages) report.stage_times.emplace_back(sums.sum(stage_account_[stage.value()]));
  report.time.compute = time(kCompute);
  report.time.recompute = time(kRecompute);
  report.time.update = time(kUpdate);
  report.time.exchange = time(kExchange);
  report.time.exposed_communication = time(kExposed);
  report.time.all_reduce = time(kAllReduce);
  report.time.collective_wait = std::max(time(kCollectiveWait), Seconds(0));  // rounding may leave -1e-17
  report.busy = report.time.compute + report.time.recompute + report.time.update + report.time.exchange;
  const Seconds waiting = report.time.exposed_communication + report.time.all_reduce + report.time.collective_wait;
  report.time.idle = std::max(window - report.busy - waiting, Seconds(0));  // likewise
  if (has_iterations) report.time.ramps = std::max(report.time.idle - time(kSteadyIdle), Seconds(0));
  report.extent = device.extent;
  report.in_flight_peak = device.in_flight_peak;
  return report;
}

}  // namespace stagecraft
