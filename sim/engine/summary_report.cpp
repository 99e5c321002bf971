#include "sim/base/error.hpp"
#include "sim/engine/derived_figures.hpp"
#include "sim/engine/summary.hpp"

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
  report.measured = periods_.measured(sums_.window());
  report.iterations = periods_.iterations();
  add_windows(report);
  report.devices = devices_.report(sums_, report.measured.whole, measurement_.synchronous);
  for (DeviceReport& device : report.devices) device.memory = memory_.peak(platform_.place(device.device));
  leave_out_unused(report);
  report.links = links_.report(platform_, sums_);
  add_memory(report);
  const std::int64_t end = measured_end(report);
  derive_figures(report, platform_, measurement_, windows_.samples(end - measurement_.microbatches, end));
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

void Summary::leave_out_unused(Report& report) const {
  if (report.course.replans.empty()) return;
  const std::set<DeviceId> last = last_devices(report);
  for (DeviceReport& device : report.devices) {
    if (device.time.idle < report.measured.whole || last.contains(device.device)) continue;
    device.time = {};
    device.bubble_ratio = std::nullopt;
  }
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
