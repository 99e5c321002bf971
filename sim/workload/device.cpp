#include "sim/workload/device.hpp"

#include "sim/base/error.hpp"

#include <algorithm>

namespace stagecraft {

const char* to_string(Precision precision) {
  switch (precision) {
    case Precision::Fp32: return "fp32";
    case Precision::Tf32: return "tf32";
    case Precision::Fp16: return "fp16";
  }
  return "";
}

std::int64_t value_bytes(Precision precision) { return precision == Precision::Fp16 ? 2 : 4; }

FlopsPerSecond peak(const DeviceDescription& device, Precision precision) {
  FlopsPerSecond rate = device.fp32;
  if (precision == Precision::Tf32) rate = device.tf32;
  if (precision == Precision::Fp16) rate = device.fp16;
  if (rate.value() <= 0) throw InputError("device " + device.name + " gives no peak rate for " + to_string(precision));
  return rate;
}

Seconds kernel_time(const DeviceDescription& device, Flops work, FlopsPerSecond rate, double traffic_bytes) {
  const Seconds arithmetic = work / rate;
  const Seconds traffic(traffic_bytes / (device.memory_bandwidth.value() * device.efficiency.memory));
  return std::max(arithmetic, traffic) + device.launch_overhead;
}

}  // namespace stagecraft
