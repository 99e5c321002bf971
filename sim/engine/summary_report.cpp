#include "sim/base/error.hpp"
#include "sim/engine/summary.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft {

/// By how much the period of the second window exceeds that of the first.
std::optional<double> Summary::drift() const {
  if (!measurement_.has_two_windows()) return std::nullopt;
  const std::int64_t after = measurement_.last - measurement_.middle;
  const std::int64_t before = measurement_.microbatches - after;
  const TimeWindow& whole = sums_.window();
  const Seconds first = (middle_ - whole.begin()) / static_cast<double>(before);
  const Seconds second = (whole.end() - middle_) / static_cast<double>(after);
  return first > Seconds(0) ? second / first - 1.0 : 0.0;
}

Report Summary::finish() {
  STAGECRAFT_CHECK(measurement_.synchronous ? !iterations_.empty() : sums_.window().is_closed(),
                   "the measured part is complete");
  Report report;
  report.operations = operations_;
  report.end = end_;
  report.iterations = iterations_;
  report.replans = replans_;
  report.migrations = migrations_;
  const TimeWindow& steady = sums_.window();
  const Seconds window = iterations_.empty() ? steady.end() - steady.begin() : iterations_.back();
  const double samples = static_cast<double>(measurement_.microbatch_size * measurement_.microbatches);
  report.throughput = window > Seconds(0) ? samples / window.value() : 0.0;
  if (!measurement_.synchronous) {
    report.period = window / static_cast<double>(measurement_.microbatches);
    report.drift = drift();
  }
  for (DeviceId device : indices(platform_.devices)) {  // whenever they joined
    const std::uint32_t position = position_of_[device.value()];
    if (position >= devices_.size()) continue;
    report.devices.push_back(device_report(devices_[position], window));
    report.recompute_time += report.devices.back().time.recompute;
    report.exposed_communication += report.devices.back().time.exposed_communication;
  }
  add_ratios(report, window);
  add_links(report, window);
  add_bottleneck(report);
  add_memory(report);
  return report;
}

DeviceReport Summary::device_report(const DeviceState& device, Seconds window) const {
  const auto time = [&](Account account) { return Seconds(sums_.sum(device.accounts + account)); };
  DeviceReport report;
  report.device = device.device;
  report.stages = device.stages;
  report.time.compute = time(kCompute);
  report.time.recompute = time(kRecompute);
  report.time.update = time(kUpdate);
  report.time.exposed_communication = time(kExposed);
  report.time.all_reduce = time(kAllReduce);
  report.time.collective_wait = std::max(time(kCollectiveWait), Seconds(0));  // rounding may leave -1e-17
  report.busy = report.time.compute + report.time.recompute + report.time.update;
  const Seconds waiting = report.time.exposed_communication + report.time.all_reduce + report.time.collective_wait;
  report.time.idle = std::max(window - report.busy - waiting, Seconds(0));  // likewise
  if (window > Seconds(0)) report.bubble_ratio = std::max(0.0, 1.0 - report.busy / window);
  report.memory = memory_.peak(platform_.place(report.device));
  report.in_flight_peak = device.in_flight_peak;
  return report;
}

void Summary::add_ratios(Report& report, Seconds window) const {
  if (window <= Seconds(0)) return;
  Seconds busy;
  Seconds largest;
  Seconds longest_span;
  Seconds longest_idle;
  for (const DeviceReport& device : report.devices) {
    busy += device.busy;
    largest = std::max(largest, device.busy);
    const DeviceState& state = devices_[position_of_[device.device.value()]];
    const Seconds extent = measurement_.synchronous ? state.extent : window;
    longest_span = std::max(longest_span, extent);
    longest_idle = std::max(longest_idle, extent - device.busy);
  }
  const auto devices = static_cast<double>(report.devices.size());
  report.bubble_ratio = std::max(0.0, 1.0 - busy / (window * devices));
  if (longest_span > Seconds(0)) report.span_bubble_ratio = std::max(0.0, longest_idle / longest_span);
  if (largest > Seconds(0)) report.ideal_bubble_ratio = std::max(0.0, window / largest - 1.0);
}

void Summary::add_links(Report& report, Seconds window) const {
  std::vector<double> bytes(platform_.links.size());
  Route route;
  for (std::size_t i = 0; i < pair_account_.size(); ++i) {
    const double amount = sums_.sum(pair_account_[i]);
    const auto& [from, to, leg] = pairs_.items()[i];
    if (amount <= 0.0 || !find_route(platform_, from, to, leg, route)) continue;
    for (LinkId link : route.links) bytes[link.value()] += amount;
  }
  for (LinkId link : indices(platform_.links)) {
    const double amount = bytes[link.value()];
    if (amount <= 0.0) continue;
    const double capacity = platform_.links[link].bandwidth.value() * window.value();
    report.links.push_back({link, Bytes(std::llround(amount)), capacity > 0.0 ? amount / capacity : 0.0});
  }
}

void Summary::add_bottleneck(Report& report) const {
  const auto busiest = std::ranges::max_element(report.devices, {}, &DeviceReport::busy);
  if (busiest == report.devices.end()) return;
  Bottleneck bottleneck;
  bottleneck.utilisation = 1.0 - busiest->bubble_ratio;
  double longest = -1.0;
  for (StageId stage : busiest->stages) {
    const double time = sums_.sum(stage_account_[stage.value()]);
    if (time > longest) bottleneck.stage = stage;
    longest = std::max(longest, time);
  }
  const auto link = std::ranges::max_element(report.links, {}, &LinkReport::utilisation);
  if (link != report.links.end() && link->utilisation > bottleneck.utilisation) {
    bottleneck = {Bottleneck::Kind::Link, StageId::none(), link->link, link->utilisation};
  }
  report.bottleneck = bottleneck;
}

void Summary::add_memory(Report& report) const {
  const auto judge = [&](PlaceId place) {
    const MemoryPeak& peak = memory_.peak(place);
    if (peak.peak > peak.capacity) {
      report.overflows.push_back({place, memory_.first_overflow(place), peak.peak - peak.capacity});
    }
  };
  for (const DeviceReport& device : report.devices) judge(platform_.place(device.device));
  for (HostId host : indices(platform_.hosts)) {
    const MemoryPeak& peak = memory_.peak(platform_.place(host));
    if (peak.peak == Bytes(0)) continue;
    report.hosts.push_back({host, peak});
    judge(platform_.place(host));
  }
}

}  // namespace stagecraft
