#include "sim/engine/derived_figures.hpp"

#include "sim/model/time_shares.hpp"

#include <algorithm>
#include <vector>

namespace stagecraft {
namespace {

/// The stage that takes most of what the device computes.
StageId longest_stage(const DeviceReport& device) {
  const auto longest = std::ranges::max_element(device.stage_times);
  return longest == device.stage_times.end()
             ? StageId()
             : device.stages[static_cast<std::size_t>(longest - device.stage_times.begin())];
}

void derive_device_figures(Report& report, Seconds window) {
  for (DeviceReport& device : report.devices) {
    report.recompute_time += device.time.recompute;
    report.exposed_communication += device.time.exposed_communication;
    if (device.is_measured() && window > Seconds(0)) device.bubble_ratio = std::max(0.0, 1.0 - device.busy / window);
  }
}

void derive_ratios(Report& report, Seconds window, bool synchronous) {
  Seconds busy;
  Seconds largest;
  Seconds longest_span;
  Seconds longest_idle;
  for (const DeviceReport& device : report.devices) {
    if (!device.is_measured()) continue;
    busy += device.busy;
    largest = std::max(largest, device.busy);
    const Seconds extent = synchronous ? device.extent : window;
    longest_span = std::max(longest_span, extent);
    longest_idle = std::max(longest_idle, extent - device.busy);
  }
  const auto devices = static_cast<double>(report.measured_devices());
  report.bubble_ratio = std::max(0.0, 1.0 - busy / (window * devices));
  if (longest_span > Seconds(0)) report.span_bubble_ratio = std::max(0.0, longest_idle / longest_span);
  if (largest > Seconds(0)) report.ideal_bubble_ratio = std::max(0.0, window / largest - 1.0);
}

void derive_bottleneck(Report& report) {
  const auto busiest = std::ranges::max_element(report.devices, {}, &DeviceReport::busy);
  if (busiest == report.devices.end()) return;
  const std::vector<Bottleneck> shares = time_shares(*busiest, longest_stage(*busiest));
  if (!shares.empty()) report.bottleneck = shares.front();
  const auto link = std::ranges::max_element(report.links, {}, &LinkReport::utilisation);
  if (!report.bottleneck || link == report.links.end() || link->utilisation <= report.bottleneck->share) return;
  report.bottleneck->kind = Bottleneck::Kind::Link;
  report.bottleneck->link = link->link;
  report.bottleneck->share = link->utilisation;
}

}  // namespace

std::optional<double> drift_of(const MeasuredTime& measured, const Measurement& measurement) {
  if (!measurement.has_two_windows()) return std::nullopt;
  const std::int64_t after = measurement.last - measurement.middle;
  const std::int64_t before = measurement.microbatches - after;
  const Seconds first = measured.first / static_cast<double>(before);
  const Seconds second = measured.second / static_cast<double>(after);
  return first > Seconds(0) ? second / first - 1.0 : 0.0;
}

void derive_figures(Report& report, const Platform& platform, const Measurement& measurement, std::int64_t samples) {
  const Seconds window = report.measured.whole;
  report.throughput = window > Seconds(0) ? static_cast<double>(samples) / window.value() : 0.0;
  if (!measurement.synchronous) {
    report.period = window / static_cast<double>(measurement.microbatches);
    report.drift = drift_of(report.measured, measurement);
  }
  derive_device_figures(report, window);
  for (LinkReport& link : report.links) {
    const double capacity = platform.links[link.link].bandwidth.value() * window.value();
    link.utilisation = capacity > 0.0 ? link.carried / capacity : 0.0;
  }
  if (window <= Seconds(0)) return;
  derive_ratios(report, window, measurement.synchronous);
  derive_bottleneck(report);
}

}  // namespace stagecraft
