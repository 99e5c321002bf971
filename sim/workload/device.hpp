#pragma once

#include "sim/base/quantity.hpp"

#include <string>

namespace stagecraft {

/// How matrix products are computed and activations stored. Parameters take four bytes in all of them.
enum class Precision {
  Fp32,  ///< IEEE single precision
  Tf32,  ///< tensor cores on single-precision data
  Fp16,  ///< tensor cores on half-precision activations (mixed precision)
};

[[nodiscard]] const char* to_string(Precision precision);

/// Bytes of one activation.
[[nodiscard]] std::int64_t value_bytes(Precision precision);

/// The share of its peak that a device reaches. **Units** ratios in (0, 1].
struct Efficiency {
  double convolution = 0.6;
  double linear = 0.8;
  double matmul = 0.5;  ///< batched products of activations, smaller than those with weights
  double memory = 0.8;  ///< of the memory bandwidth
  friend bool operator==(const Efficiency&, const Efficiency&) = default;
};

/// A kind of device, as the cost model needs it.
struct DeviceDescription {
  std::string name;
  std::string summary;
  std::string source;  ///< of the peak figures
  FlopsPerSecond fp32;
  FlopsPerSecond tf32;  ///< 0: the device has no such mode
  FlopsPerSecond fp16;  ///< 0: likewise
  BytesPerSecond memory_bandwidth;
  Bytes memory;
  Seconds launch_overhead;                ///< of one kernel
  Precision precision = Precision::Fp32;  ///< the mode that profiles are computed in
  Efficiency efficiency;
  friend bool operator==(const DeviceDescription&, const DeviceDescription&) = default;
};

/// Peak rate of matrix products in a mode. **Throws** InputError where the device does not have it.
[[nodiscard]] FlopsPerSecond peak(const DeviceDescription& device, Precision precision);

/// One kernel's time by the roofline: the longer of arithmetic at `rate` and memory traffic, plus the launch.
/// `rate` is what the kernel reaches, its efficiency included.
/// **Source** S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model", CACM 2009.
[[nodiscard]] Seconds kernel_time(const DeviceDescription& device, Flops work, FlopsPerSecond rate,
                                  double traffic_bytes);

}  // namespace stagecraft
