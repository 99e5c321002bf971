#include "sim/model/report.hpp"

namespace stagecraft {

Figures Report::figures() const {
  Figures result;
  if (!iterations.empty()) result.iteration_time = iterations.back();
  result.period = period;
  for (const DeviceReport& device : devices) result.peak_memory.emplace_back(device.device, device.memory.peak);
  return result;
}

std::int64_t samples_of(const std::vector<WindowReport>& windows) {
  std::int64_t sum = 0;
  for (const WindowReport& window : windows) sum += window.samples();
  return sum;
}

}  // namespace stagecraft
