#include "sim/engine/summary.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::uint32_t kUnused = std::numeric_limits<std::uint32_t>::max();

/// The parts of [begin, end) that the spans cover together, without overlap.
std::vector<std::pair<Seconds, Seconds>> covered(std::vector<std::pair<Seconds, Seconds>> spans, Seconds begin,
                                                 Seconds end) {
  std::ranges::sort(spans);
  std::vector<std::pair<Seconds, Seconds>> parts;
  for (const auto& [from, to] : spans) {
    const Seconds a = std::max(from, begin);
    const Seconds b = std::min(to, end);
    if (b <= a) continue;
    parts.emplace_back(a, b);
    begin = b;
  }
  return parts;
}

}  // namespace

Summary::Summary(const Platform& platform, const Measurement& measurement, bool in_start_order)
    : platform_(platform),
      measurement_(measurement),
      in_start_order_(in_start_order),
      position_of_(platform.devices.size(), kUnused),
      sums_(measurement.synchronous),
      memory_(platform) {}

Summary::DeviceState& Summary::join(DeviceId device) {
  std::uint32_t& position = position_of_[device.value()];
  if (position == kUnused) {
    position = static_cast<std::uint32_t>(devices_.size());
    DeviceState& state = devices_.emplace_back();
    state.device = device;
    state.accounts = sums_.open_accounts(kAccounts);
    state.last_end = iteration_begin_;
  }
  return devices_[position];
}

void Summary::announce(const OpGraph& window) {
  for (const Lane& lane : window.new_lanes) {
    if (!lane.device.is_none()) join(lane.device);
  }
  for (const RunStage& stage : window.new_stages) {
    const StageId id(stage_account_.size());
    stage_account_.push_back(sums_.open_accounts(1));
    for (DeviceId device : stage.devices) join(device).stages.push_back(id);
  }
}

OpSource announced_to(Summary& summary, OpSource source) {
  auto next = [&summary, inner = std::move(source.next)](const Observation& observation) {
    std::optional<OpGraph> window = inner(observation);
    if (window) summary.announce(*window);
    return window;
  };
  return {std::move(next), source.one_pass};
}

void Summary::add(const Span& span, const Op& op, std::span<const MemoryDelta> deltas) {
  if (!span.aborted && span.id != last_counted_) {  // an operation on several devices is reported once for each
    ++operations_;
    last_counted_ = span.id;
  }
  end_ = std::max(end_, span.end);
  if (!deltas.empty()) memory_.add(span, deltas);
  if (in_start_order_) sums_.bound_end(span.start);
  if (is_compute(op.kind)) {
    add_computation(span, op);
  } else if (is_transfer(op.kind)) {
    add_transfer(span, op);
  } else if (op.kind == OpKind::CollectiveBegin || op.kind == OpKind::CollectiveEnd) {
    add_collective_mark(span, op);
  } else if (op.kind == OpKind::Barrier) {
    add_barrier(span.end, op.microbatch);
  } else if (op.kind == OpKind::Setup && op.microbatch > 0) {
    replans_.push_back({op.microbatch, span.start});
  }
}

void Summary::add_computation(const Span& span, const Op& op) {
  const std::uint32_t position = position_of_[op.from.value()];
  STAGECRAFT_CHECK(position != kUnused, "a computation runs on a device that a window has announced");
  DeviceState& device = devices_[position];
  if (span.start > device.last_end) add_gap(device, span);
  device.first_start = std::min(device.first_start, span.start);
  device.last_end = span.end;
  for (std::vector<Interval>* past : {&device.collectives, &device.exchanges}) {
    if (!past->empty()) std::erase_if(*past, [&](const Interval& interval) { return interval.second <= span.end; });
  }
  const Account kind = op.kind == OpKind::Recompute ? kRecompute : op.kind == OpKind::Update ? kUpdate : kCompute;
  const double seconds = (span.end - span.start).value();
  sums_.add({device.accounts + kind, span.start, span.end, seconds});
  if (!op.stage.is_none()) {
    STAGECRAFT_CHECK(op.stage.value() < stage_account_.size(), "a window has announced the stage");
    sums_.add({stage_account_[op.stage.value()], span.start, span.end, seconds});
  }
  if (span.aborted) return;
  if (op.kind == OpKind::Forward || op.kind == OpKind::ForwardBackward) {
    device.in_flight_peak = std::max(device.in_flight_peak, ++device.in_flight);
  }
  if (!op.closes) return;
  --device.in_flight;
  // The measured window ends with microbatch `last`. A microbatch whole strides before it runs on the same replicas and
  // ends earlier, so the window cannot end before this span does.
  const std::int64_t distance = measurement_.last - std::int64_t{op.microbatch};
  if (!in_start_order_ && distance >= 0 && distance % measurement_.stride == 0) {
    sums_.bound_end(std::max(sums_.end_bound(), span.end));
  }
}

/// Counts idle time before a computation as communication if a transfer was the last thing that it waited for: the part
/// of the gap during which that transfer was under way. If a collective was, the part counts during which the device
/// took part in one.
void Summary::add_gap(const DeviceState& device, const Span& span) {
  if (span.cause == OpKind::CollectiveEnd) add_in_collectives(device, device.last_end, span.start);
  if (!is_transfer(span.cause)) return;
  const Seconds begin = std::max(device.last_end, span.cause_start);
  const Seconds end = std::min(span.start, span.cause_end);
  if (begin < end) sums_.add({device.accounts + kExposed, begin, end, (end - begin).value()});
}

/// Counts the part of an idle time during which the device took part in a collective: as waiting, less what it spent
/// sending and receiving, which always lies within.
void Summary::add_in_collectives(const DeviceState& device, Seconds begin, Seconds end) {
  for (const auto& [from, to] : covered(device.collectives, begin, end)) {
    sums_.add({device.accounts + kCollectiveWait, from, to, (to - from).value()});
  }
  for (const auto& [from, to] : covered(device.exchanges, begin, end)) {
    sums_.add({device.accounts + kAllReduce, from, to, (to - from).value()});
    sums_.add({device.accounts + kCollectiveWait, from, to, (from - to).value()});
  }
}

void Summary::add_exchange(const Span& span, const Op& op) {
  Collective& collective = collectives_[{op.stage, op.chunk}];
  for (const PlaceId place : {op.from, op.to}) {
    const std::uint32_t position = position_of_[place.value()];
    STAGECRAFT_CHECK(position != kUnused, "the members of a collective are devices that a window has announced");
    devices_[position].exchanges.emplace_back(span.start, span.end);
    if (place == op.from) collective.members.push_back(position);  // every member sends
  }
}

/// All members are in the collective from its first begin to its end. Each further begin starts a phase.
void Summary::add_collective_mark(const Span& span, const Op& op) {
  Collective& collective = collectives_[{op.stage, op.chunk}];
  if (op.kind == OpKind::CollectiveBegin) {
    collective.begin = std::min(collective.begin, span.start);
    collective.latencies.emplace_back(span.start, span.end);
    return;
  }
  std::ranges::sort(collective.members);
  const auto [rest, end] = std::ranges::unique(collective.members);
  collective.members.erase(rest, end);
  for (std::uint32_t position : collective.members) {
    DeviceState& device = devices_[position];
    device.collectives.emplace_back(collective.begin, span.end);
    device.exchanges.insert(device.exchanges.end(), collective.latencies.begin(), collective.latencies.end());
  }
  collectives_.erase({op.stage, op.chunk});
}

void Summary::add_transfer(const Span& span, const Op& op) {
  if (op.kind == OpKind::AllReduce) add_exchange(span, op);
  if (span.aborted) return;
  if (op.kind == OpKind::Migration) migrations_.push_back({op.stage, op.from, op.to, op.bytes, span.start, span.end});
  if (!crosses_links(op)) return;
  const std::uint32_t pair = pairs_.number_of(op);
  if (pair == pair_account_.size()) pair_account_.push_back(sums_.open_accounts(1));
  sums_.add({pair_account_[pair], span.start, span.end, static_cast<double>(op.bytes.value())});
}

void Summary::add_barrier(Seconds at, std::int64_t microbatch) {
  if (measurement_.has_two_windows() && microbatch == measurement_.middle) {
    middle_ = at;
    return;
  }
  if (measurement_.synchronous) {
    for (DeviceState& device : devices_) add_tail(device, at);
    iterations_.push_back(at - iteration_begin_);
    iteration_begin_ = at;
    for (DeviceState& device : devices_) {
      device.extent = std::max(device.last_end - device.first_start, Seconds(0));
      device.first_start = kNever;
      device.last_end = at;
      device.collectives.clear();
      device.exchanges.clear();
    }
  }
  sums_.pass_barrier(at);
}

/// Counts the idle time between a device's last computation and the end of the iteration during which it took part in
/// collectives.
void Summary::add_tail(const DeviceState& device, Seconds end) { add_in_collectives(device, device.last_end, end); }

}  // namespace stagecraft
