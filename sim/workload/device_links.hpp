#pragma once

#include "sim/base/quantity.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stagecraft {

/// The links of a kind of device, as its maker publishes them.
struct DeviceLinks {
  std::int64_t nvlinks = 0;     ///< of one device; 0: it has none
  BytesPerSecond nvlink;        ///< of one of them, in one direction
  std::int64_t pcie = 0;        ///< generation, of 16 lanes
  BytesPerSecond pcie_rate;     ///< of 16 lanes in one direction, after the coding of the line
  BytesPerSecond pcie_reached;  ///< assumed: what a copy reaches of it
  std::string source;           ///< of the links
  friend bool operator==(const DeviceLinks&, const DeviceLinks&) = default;
};

/// The links of a device of the catalogue (`find_device`); none for another name.
[[nodiscard]] std::optional<DeviceLinks> find_device_links(std::string_view name);

}  // namespace stagecraft
