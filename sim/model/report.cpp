#include "sim/model/report.hpp"

namespace stagecraft {

Figures Report::figures() const {
  Figures result;
  if (!iterations.empty()) result.iteration_time = iterations.back();
  result.period = period;
  for (const DeviceReport& device : devices) result.peak_memory.emplace_back(device.device, device.memory.peak);
  return result;
}

}  // namespace stagecraft
