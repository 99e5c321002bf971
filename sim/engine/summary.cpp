#include "sim/engine/summary.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::uint32_t kUnused = std::numeric_limits<std::uint32_t>::max();

std::uint32_t highest_stage(const std::vector<DeviceUse>& use) {
  std::uint32_t count = 0;
  for (const DeviceUse& device : use) {
    for (StageId stage : device.stages) count = std::max(count, stage.value() + 1);
  }
  return count;
}

/// Length of the part of [begin, end) that the spans cover together.
Seconds covered(std::vector<std::pair<Seconds, Seconds>> spans, Seconds begin, Seconds end) {
  std::ranges::sort(spans);
  Seconds sum;
  for (const auto& [from, to] : spans) {
    const Seconds a = std::max(from, begin);
    const Seconds b = std::min(to, end);
    if (b <= a) continue;
    sum += b - a;
    begin = b;
  }
  return sum;
}

}  // namespace

Summary::Summary(const Platform& platform, std::vector<DeviceUse> use, const Measurement& measurement,
                 bool in_start_order)
    : platform_(platform),
      use_(std::move(use)),
      measurement_(measurement),
      in_start_order_(in_start_order),
      use_of_(platform.devices.size(), kUnused),
      devices_(use_.size()),
      memory_(platform),
      extents_(use_.size()),
      stage_count_(highest_stage(use_)) {
  for (std::uint32_t i = 0; i < use_.size(); ++i) use_of_[use_[i].device.value()] = i;
  pair_base_ = static_cast<std::uint32_t>(use_.size()) * kAccounts + stage_count_;
  sums_.resize(pair_base_);
}

void Summary::add(const Span& span, const Op& op, std::span<const MemoryDelta> deltas) {
  if (!span.aborted && span.id != last_counted_) {  // an operation of several devices comes once for each
    ++operations_;
    last_counted_ = span.id;
  }
  if (!deltas.empty()) memory_.add(span, deltas);
  if (in_start_order_) end_bound_ = span.start;
  if (is_compute(op.kind)) {
    add_computation(span, op);
  } else if (is_transfer(op.kind)) {
    add_transfer(span, op);
  } else if (op.kind == OpKind::Barrier) {
    add_barrier(span.end);
  }
}

void Summary::add_piece(std::uint32_t account, Seconds begin, Seconds end, double amount) {
  if (measurement_.synchronous) {
    if (account >= sums_.size()) sums_.resize(account + 1);
    sums_[account] += amount;
  } else {
    window_.add({account, begin, end, amount}, end_bound_);
  }
}

void Summary::add_computation(const Span& span, const Op& op) {
  const std::uint32_t index = use_of_[op.from.value()];
  STAGECRAFT_CHECK(index != kUnused, "a computation runs on a device in use");
  DeviceState& device = devices_[index];
  if (span.start > device.last_end) add_gap(index, span);
  device.first_start = std::min(device.first_start, span.start);
  device.last_end = span.end;
  if (!device.all_reduces.empty()) {
    std::erase_if(device.all_reduces, [&](const auto& flow) { return flow.second <= span.end; });
  }
  const Account kind = op.kind == OpKind::Recompute ? kRecompute : op.kind == OpKind::Update ? kUpdate : kCompute;
  const double seconds = (span.end - span.start).value();
  add_piece(index * kAccounts + kind, span.start, span.end, seconds);
  if (!op.stage.is_none()) {
    add_piece(static_cast<std::uint32_t>(use_.size()) * kAccounts + op.stage.value(), span.start, span.end, seconds);
  }
  if (span.aborted) return;
  if (op.kind == OpKind::Forward || op.kind == OpKind::ForwardBackward) {
    device.in_flight_peak = std::max(device.in_flight_peak, ++device.in_flight);
  }
  if (!op.closes) return;
  --device.in_flight;
  // Of two microbatches a stride apart the later one runs where the earlier ran, and after it.
  const std::int64_t distance = measurement_.last - std::int64_t{op.microbatch};
  if (!in_start_order_ && distance >= 0 && distance % measurement_.stride == 0) {
    end_bound_ = std::max(end_bound_, span.end);
  }
}

/// The idle time before a computation, by what it waited for last.
void Summary::add_gap(std::uint32_t device, const Span& span) {
  if (!is_transfer(span.cause)) return;
  const Seconds begin = std::max(devices_[device].last_end, span.cause_start);
  const Seconds end = std::min(span.start, span.cause_end);
  if (begin >= end) return;
  const Account account = span.cause == OpKind::AllReduce ? kAllReduce : kExposed;
  add_piece(device * kAccounts + account, begin, end, (end - begin).value());
}

std::uint32_t Summary::pair_of(PlaceId from, PlaceId to) {
  const std::uint64_t key = (std::uint64_t{from.value()} << 32) | to.value();
  if (key == last_pair_key_) return last_pair_;
  const auto [found, is_new] = pair_index_.try_emplace(key, static_cast<std::uint32_t>(pairs_.size()));
  if (is_new) pairs_.push_back({from, to});
  last_pair_key_ = key;
  last_pair_ = found->second;
  return last_pair_;
}

void Summary::add_transfer(const Span& span, const Op& op) {
  if (op.kind == OpKind::AllReduce && platform_.is_device(op.from)) {
    const std::uint32_t index = use_of_[op.from.value()];
    if (index != kUnused) devices_[index].all_reduces.emplace_back(span.start, span.end);
  }
  if (!crosses_links(op) || span.aborted) return;
  add_piece(pair_base_ + pair_of(op.from, op.to), span.start, span.end, static_cast<double>(op.bytes.value()));
}

void Summary::add_barrier(Seconds at) {
  if (!measurement_.synchronous) {
    if (window_.is_open()) {
      window_.close(at);
    } else {
      window_.open(at);
    }
    return;
  }
  add_tails(at);
  iterations_.push_back(at - iteration_begin_);
  iteration_begin_ = at;
  measured_ = std::exchange(sums_, std::vector<double>(pair_base_));
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    extents_[i] = {devices_[i].first_start, devices_[i].last_end};
    devices_[i].first_start = kNever;
    devices_[i].last_end = at;
    devices_[i].all_reduces.clear();
  }
}

/// The idle time between a device's last computation and the end of the iteration.
void Summary::add_tails(Seconds end) {
  for (std::uint32_t i = 0; i < devices_.size(); ++i) {
    const Seconds reduced = covered(devices_[i].all_reduces, devices_[i].last_end, end);
    if (reduced > Seconds(0)) add_piece(i * kAccounts + kAllReduce, devices_[i].last_end, end, reduced.value());
  }
}

double Summary::sum(std::uint32_t account) const {
  if (!measurement_.synchronous) return window_.sum(account);
  return account < measured_.size() ? measured_[account] : 0.0;
}

double Summary::sum(std::size_t device, Account account) const {
  return sum(static_cast<std::uint32_t>(device) * kAccounts + account);
}

}  // namespace stagecraft
