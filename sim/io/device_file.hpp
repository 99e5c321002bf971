#pragma once

#include "sim/workload/device.hpp"

#include <string>
#include <string_view>

namespace stagecraft {

/// The device a file of the schema `stagecraft/device/1` describes (docs/reference/formats/device.md), defaults filled
/// in.
/// **Throws** InputError naming the place of the first defect.
[[nodiscard]] DeviceDescription read_device_file(const std::string& path);

/// The same of a text; `file_name` is used in messages only.
[[nodiscard]] DeviceDescription parse_device(std::string_view text, const std::string& file_name);

}  // namespace stagecraft
