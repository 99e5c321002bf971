#pragma once

#include "sim/workload/device.hpp"

#include <string>
#include <string_view>

namespace stagecraft {

/// The device that a text of the schema `stagecraft/device/1` describes (docs/reference/formats/device.md), defaults
/// filled in. `file_name` is used in messages only.
/// **Throws** InputError naming the place of the first defect.
[[nodiscard]] DeviceDescription parse_device(std::string_view text, const std::string& file_name);

/// A file that reads back to the same device, but for its summary.
[[nodiscard]] std::string write_device(const DeviceDescription& device);

}  // namespace stagecraft
