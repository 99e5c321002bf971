#pragma once

#include "sim/base/quantity.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stagecraft {

/// The links of a kind of device, as its maker publishes them.
struct DeviceLinks {
  std::string architecture;     ///< as of `find_gpu_link`
  std::int64_t nvlinks = 0;     ///< of one device; 0: it has none
  BytesPerSecond nvlink;        ///< of one of them, in one direction
  std::int64_t pcie = 0;        ///< generation, of 16 lanes
  BytesPerSecond pcie_rate;     ///< of 16 lanes in one direction, after the coding of the line
  BytesPerSecond pcie_reached;  ///< assumed: what a copy reaches of it
  std::string source;           ///< of the links
  friend bool operator==(const DeviceLinks&, const DeviceLinks&) = default;
};

/// What one NVLink or xGMI link of a GPU carries in one direction, as its maker publishes it.
struct GpuLink {
  BytesPerSecond bandwidth;
  std::string source;
  friend bool operator==(const GpuLink&, const GpuLink&) = default;
};

/// By architecture, as programs call it: `sm80` of compute capability 8.0, `gfx90a`; none for one that is not known.
[[nodiscard]] std::optional<GpuLink> find_gpu_link(std::string_view architecture);

/// The links of a device of the catalogue (`find_device`); none for another name.
[[nodiscard]] std::optional<DeviceLinks> find_device_links(std::string_view name);

}  // namespace stagecraft
