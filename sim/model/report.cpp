#include "sim/model/report.hpp"

#include <algorithm>

namespace stagecraft {

Figures Report::figures() const {
  Figures result;
  if (!iterations.empty()) result.iteration_time = iterations.back();
  result.period = period;
  for (const DeviceReport& device : devices) result.peak_memory.emplace_back(device.device, device.memory.peak);
  return result;
}

std::size_t Report::measured_devices() const {
  return static_cast<std::size_t>(std::ranges::count_if(devices, &DeviceReport::is_measured));
}

std::vector<const ReplanQuestion*> changes_of_plan(const Report& report) {
  std::vector<const ReplanQuestion*> changes;
  for (const ReplanQuestion& question : report.course.questions) {
    if (question.first) changes.push_back(&question);
  }
  return changes;
}

std::int64_t samples_of(const std::vector<WindowReport>& windows) {
  std::int64_t sum = 0;
  for (const WindowReport& window : windows) sum += window.samples();
  return sum;
}

}  // namespace stagecraft
