#pragma once

#include "sim/base/quantity.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stagecraft {

/// The GT/s in what the kernel says of a link, such as `16.0 GT/s PCIe`; none where it says no speed.
[[nodiscard]] std::optional<double> nccl_lane_speed(std::string_view text);

/// What one lane of so many GT/s carries in one direction; none where no generation of PCIe has that speed.
/// **Source** NCCL, src/graph/topo.cc: 6 Gbit/s of the 8 GT/s of the third generation, and in proportion; 1.5 Gbit/s of
/// the 2.5 GT/s of the first.
[[nodiscard]] std::optional<BytesPerSecond> nccl_lane_bandwidth(double transfers);

/// Those of all generations, for a message.
[[nodiscard]] std::string nccl_lane_speeds();

/// A processor, as `<cpu>` describes it.
struct NcclProcessor {
  std::string architecture;
  std::string vendor;
  std::int64_t family = 0;
  std::int64_t model = 0;
};

/// What GPUs reach from one NUMA node to another, in one direction; none for a processor that is not known.
/// **Source** NCCL, src/graph/topo.{cc,h}.
[[nodiscard]] std::optional<BytesPerSecond> nccl_socket_bandwidth(const NcclProcessor& processor);

}  // namespace stagecraft
