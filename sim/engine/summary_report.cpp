#include "sim/base/error.hpp"
#include "sim/engine/summary.hpp"
#include "sim/model/time_shares.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace stagecraft {

Report Summary::finish() {
  STAGECRAFT_CHECK(measurement_.synchronous ? !periods_.iterations().empty() : sums_.window().is_closed(),
                   "the measured part is complete");
  memory_.finish();
  Report report = so_far_;
  std::erase_if(report.course.strikes, [&](const Strike& strike) { return strike.at >= report.end; });
  const Seconds window = periods_.measured(sums_.window());
  add_windows(report);
  add_periods(report, window);
  report.devices = devices_.report(sums_, window, measurement_.synchronous);
  for (DeviceReport& device : report.devices) {
    device.memory = memory_.peak(platform_.place(device.device));
    report.recompute_time += device.time.recompute;
    report.exposed_communication += device.time.exposed_communication;
  }
  leave_out_unused(report, window);
  add_ratios(report, window);
  report.links = links_.report(platform_, sums_, window);
  add_bottleneck(report, window);
  add_memory(report);
  return report;
}

void Summary::add_windows(Report& report) const {
  report.course.windows = windows_.report();
  const auto times = windows_.change_times();
  if (times.size() != report.course.replans.size()) return;
  for (std::size_t i = 0; i < times.size(); ++i) {
    Replan& replan = report.course.replans[i];
    replan.before = {times[i].first.microbatches, times[i].first.time};
    replan.after = {times[i].second.microbatches, times[i].second.time};
  }
}

void Summary::add_periods(Report& report, Seconds window) const {
  report.iterations = periods_.iterations();
  const std::int64_t measured = measurement_.microbatches;
  const std::int64_t end = measured_end(report);
  const auto samples = static_cast<double>(windows_.samples(end - measured, end));
  report.throughput = window > Seconds(0) ? samples / window.value() : 0.0;
  if (measurement_.synchronous) return;
  report.period = window / static_cast<double>(measurement_.microbatches);
  report.drift = periods_.drift(measurement_, sums_.window());
}

/// One more than the last microbatch of the measured part.
std::int64_t Summary::measured_end(const Report& report) const {
  if (!measurement_.synchronous) return measurement_.last + 1;
  return std::ssize(report.iterations) * measurement_.microbatches;
}

/// The devices of the plan that runs at the end of the measured part. **Requires** a run in which the plan changed.
std::set<DeviceId> Summary::last_devices(const Report& report) const {
  const std::vector<Replan>& replans = report.course.replans;
  const std::vector<const ReplanQuestion*> changes = changes_of_plan(report);
  std::size_t begun = std::min(replans.size(), changes.size());
  while (begun > 0 && std::int64_t{replans[begun - 1].microbatch} >= measured_end(report)) --begun;
  std::set<DeviceId> devices;
  if (begun > 0) {
    for (const FollowingStage& stage : changes[begun - 1]->stages) {
      devices.insert(stage.devices.begin(), stage.devices.end());
    }
  } else {
    for (const DeviceReport& device : report.devices) {
      if (!device.stages.empty() && device.stages.front() < replans.front().first_stage) devices.insert(device.device);
    }
  }
  return devices;
}

void Summary::leave_out_unused(Report& report, Seconds window) const {
  if (report.course.replans.empty()) return;
  const std::set<DeviceId> last = last_devices(report);
  for (DeviceReport& device : report.devices) {
    if (device.time.idle < window || last.contains(device.device)) continue;
    device.time = {};
    device.bubble_ratio = std::nullopt;
  }
}

void Summary::add_ratios(Report& report, Seconds window) const {
  if (window <= Seconds(0)) return;
  Seconds busy;
  Seconds largest;
  Seconds longest_span;
  Seconds longest_idle;
  for (const DeviceReport& device : report.devices) {
    if (!device.is_measured()) continue;
    busy += device.busy;
    largest = std::max(largest, device.busy);
    const Seconds extent = measurement_.synchronous ? devices_.extent(device.device) : window;
    longest_span = std::max(longest_span, extent);
    longest_idle = std::max(longest_idle, extent - device.busy);
  }
  const auto devices = static_cast<double>(report.measured_devices());
  report.bubble_ratio = std::max(0.0, 1.0 - busy / (window * devices));
  if (longest_span > Seconds(0)) report.span_bubble_ratio = std::max(0.0, longest_idle / longest_span);
  if (largest > Seconds(0)) report.ideal_bubble_ratio = std::max(0.0, window / largest - 1.0);
}

void Summary::add_bottleneck(Report& report, Seconds window) const {
  const auto busiest = std::ranges::max_element(report.devices, {}, &DeviceReport::busy);
  if (busiest == report.devices.end() || window <= Seconds(0)) return;
  const auto time_of = [&](StageId stage) { return devices_.time_of(stage, sums_); };
  const auto longest = std::ranges::max_element(busiest->stages, {}, time_of);
  const std::vector<Bottleneck> shares = time_shares(*busiest, longest == busiest->stages.end() ? StageId() : *longest);
  if (!shares.empty()) report.bottleneck = shares.front();
  const auto link = std::ranges::max_element(report.links, {}, &LinkReport::utilisation);
  if (!report.bottleneck || link == report.links.end() || link->utilisation <= report.bottleneck->share) return;
  report.bottleneck->kind = Bottleneck::Kind::Link;
  report.bottleneck->link = link->link;
  report.bottleneck->share = link->utilisation;
}

void Summary::add_memory(Report& report) const {
  const auto judge = [&](PlaceId place) {
    const MemoryPeak& peak = memory_.peak(place);
    if (peak.peak > peak.capacity) {
      const Seconds last = memory_.last_overflow(place);
      report.overflows.push_back({.place = place,
                                  .at = memory_.first_overflow(place),
                                  .excess = peak.peak - peak.capacity,
                                  .until = last == kNever ? std::nullopt : std::optional(last)});
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
