#pragma once

#include "sim/base/quantity.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// How matrix products are computed, and activations and parameters stored.
enum class Precision {
  Fp32,  ///< IEEE single precision
  Tf32,  ///< tensor cores on single-precision data
  Fp16,  ///< tensor cores on half-precision activations and parameters
  Bf16,  ///< the same with the exponent of single precision
  Fp8,   ///< products with weights in 8 bit, all else as in 16 bit; activations and parameters are stored in 16 bit
};
inline constexpr std::array kAllPrecisions{Precision::Fp32, Precision::Tf32, Precision::Fp16, Precision::Bf16,
                                           Precision::Fp8};

[[nodiscard]] const char* to_string(Precision precision);
/// The precision of that name; none for other names.
[[nodiscard]] std::optional<Precision> precision_of(std::string_view name);

/// Bytes of one activation.
[[nodiscard]] std::int64_t value_bytes(Precision precision);
/// Bytes of one parameter. A copy in more bits, from which an optimizer makes it, belongs to the optimizer's state.
[[nodiscard]] std::int64_t parameter_bytes(Precision precision);

/// The share of its peak that a device reaches. **Units** ratios in (0, 1].
struct Efficiency {
  double convolution = 0.6;
  double linear = 0.8;
  double linear8 = 0.8;    ///< products with weights in 8 bit, of the peak in 8 bit
  double matmul = 0.5;     ///< batched products of activations, smaller than those with weights
  double attention = 0.5;  ///< the same in one kernel with the softmax between them
  double memory = 0.8;     ///< of the memory bandwidth
  friend bool operator==(const Efficiency&, const Efficiency&) = default;
};

/// How the time of a product with weights depends on its shape. It is divided into tiles, which the multiprocessors of
/// a device compute side by side; the last tiles keep only some of them busy.
struct Tiling {
  std::int64_t processors = 0;  ///< 0: the time is in proportion to the operations
  double fill = 0;              ///< values of the inner dimension that each tile takes in addition
  double whole_waves = 1;       ///< 1: a part of the processors takes as long as all; 0: in proportion
  double odd_rows = 0;          ///< part of the time that is added if rows are no multiples of 16 bytes
  friend bool operator==(const Tiling&, const Tiling&) = default;
};

/// The host that launches kernels one after the other, which the device may wait for.
struct HostLaunches {
  Seconds time;  ///< of one kernel; 0: the device never waits
  double jitter =
      0;  ///< part of it that is added for each doubling of a tensor group, whose members wait for each other
  friend bool operator==(const HostLaunches&, const HostLaunches&) = default;
};

/// A kind of device, as the cost model needs it.
struct DeviceDescription {
  std::string name;
  std::string summary;
  std::string source;  ///< of the peak figures
  FlopsPerSecond fp32;
  FlopsPerSecond tf32;  ///< 0: the device has no such mode
  FlopsPerSecond fp16;  ///< 0: likewise
  FlopsPerSecond bf16;  ///< 0: likewise
  FlopsPerSecond fp8;   ///< 0: likewise
  BytesPerSecond memory_bandwidth;
  Bytes memory;
  Seconds launch_overhead;                ///< of one kernel, on the device
  Precision precision = Precision::Fp32;  ///< the mode that profiles are computed in
  Efficiency efficiency;
  Tiling tiling;
  HostLaunches host;
  double loss_traffic =
      0;            ///< bytes that a loss over words moves for each logit in the forward; 0: what its tensors say
  std::string fit;  ///< what these constants were fitted to; empty: they are assumed
  friend bool operator==(const DeviceDescription&, const DeviceDescription&) = default;
};

/// Peak rate of matrix products with weights in a mode; 0 where the device does not have it.
[[nodiscard]] FlopsPerSecond rate_in(const DeviceDescription& device, Precision precision);

/// The modes of a device. One that has no 16-bit rate has no fp8, which needs one.
[[nodiscard]] std::vector<Precision> precisions_of(const DeviceDescription& device);

/// The same rate. **Throws** InputError where the device does not have it.
[[nodiscard]] FlopsPerSecond peak(const DeviceDescription& device, Precision precision);

/// Peak rate of the products that a mode leaves out: those of fp8 in 16 bit; in other modes `peak`.
/// **Throws** InputError where the device does not have it.
[[nodiscard]] FlopsPerSecond wide_peak(const DeviceDescription& device, Precision precision);

/// One kernel's time by the roofline: the longer of arithmetic at `rate` and memory traffic, plus the launch.
/// `rate` is what the kernel reaches, its efficiency included.
/// **Source** S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model", CACM 2009.
[[nodiscard]] Seconds kernel_time(const DeviceDescription& device, Flops work, FlopsPerSecond rate,
                                  double traffic_bytes);

}  // namespace stagecraft
