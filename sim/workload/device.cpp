#include "sim/workload/device.hpp"

#include "sim/base/error.hpp"

#include <algorithm>

namespace stagecraft {

const char* to_string(Precision precision) {
  switch (precision) {
    case Precision::Fp32: return "fp32";
    case Precision::Tf32: return "tf32";
    case Precision::Fp16: return "fp16";
    case Precision::Bf16: return "bf16";
    case Precision::Fp8: return "fp8";
  }
  return "";
}

std::optional<Precision> precision_of(std::string_view name) {
  const auto found =
      std::ranges::find(kAllPrecisions, name, [](Precision p) { return std::string_view(to_string(p)); });
  return found == kAllPrecisions.end() ? std::nullopt : std::optional(*found);
}

std::int64_t value_bytes(Precision precision) {
  return precision == Precision::Fp32 || precision == Precision::Tf32 ? 4 : 2;
}

std::int64_t parameter_bytes(Precision precision) { return value_bytes(precision); }

FlopsPerSecond rate_in(const DeviceDescription& device, Precision precision) {
  switch (precision) {
    case Precision::Fp32: return device.fp32;
    case Precision::Tf32: return device.tf32;
    case Precision::Fp16: return device.fp16;
    case Precision::Bf16: return device.bf16;
    case Precision::Fp8: return std::max(device.fp16, device.bf16) > FlopsPerSecond(0) ? device.fp8 : FlopsPerSecond(0);
  }
  return {};
}

std::vector<Precision> precisions_of(const DeviceDescription& device) {
  std::vector<Precision> list;
  for (const Precision precision : kAllPrecisions) {
    if (rate_in(device, precision) > FlopsPerSecond(0)) list.push_back(precision);
  }
  return list;
}

FlopsPerSecond peak(const DeviceDescription& device, Precision precision) {
  const FlopsPerSecond rate = rate_in(device, precision);
  if (rate > FlopsPerSecond(0)) return rate;
  std::string names;
  for (const Precision known : precisions_of(device))
    names += (names.empty() ? "" : ", ") + std::string(to_string(known));
  const bool has_half = precision == Precision::Bf16 && device.fp16 > FlopsPerSecond(0);
  throw InputError("device " + device.name + " gives no peak rate for " + to_string(precision), {},
                   (has_half ? "use fp16; " : std::string()) + "it has " + names);
}

FlopsPerSecond wide_peak(const DeviceDescription& device, Precision precision) {
  if (precision != Precision::Fp8) return peak(device, precision);
  return peak(device, device.bf16 > FlopsPerSecond(0) ? Precision::Bf16 : Precision::Fp16);
}

Seconds kernel_time(const DeviceDescription& device, Flops work, FlopsPerSecond rate, double traffic_bytes) {
  const Seconds arithmetic = work / rate;
  const Seconds traffic(traffic_bytes / (device.memory_bandwidth.value() * device.efficiency.memory));
  return std::max(arithmetic, traffic) + device.launch_overhead;
}

}  // namespace stagecraft
