#pragma once

#include "sim/base/quantity.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stagecraft {

/// What one lane carries in one direction, by what the kernel says of it, such as `16.0 GT/s PCIe`; none where that is
/// no speed of PCIe. **Source** NCCL, src/graph/topo.cc: 6 Gbit/s of the 8 GT/s of the third generation, and in
/// proportion; 1.5 Gbit/s of the 2.5 GT/s of the first.
[[nodiscard]] std::optional<BytesPerSecond> nccl_lane_bandwidth(std::string_view speed);

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
