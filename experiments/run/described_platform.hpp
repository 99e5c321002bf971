#pragma once

#include "sim/model/platform_spec.hpp"
#include "sim/workload/device.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// A platform with what its device files say of its kinds.
struct DescribedPlatform {
  PlatformSpec spec;
  std::vector<DeviceDescription> devices;  ///< with the names that their kinds have in the platform
};

/// The paths of the platform's device files. `path` is that of the platform file.
[[nodiscard]] std::vector<std::string> device_files(const PlatformSpec& spec, const std::string& path);

/// Reads the device files of a platform. **Throws** InputError for a file that cannot be read, or has an error.
[[nodiscard]] DescribedPlatform with_device_files(PlatformSpec spec, const std::string& path);

}  // namespace stagecraft
