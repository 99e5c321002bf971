#pragma once

#include "experiments/run/overrides.hpp"
#include "sim/model/platform_spec.hpp"
#include "sim/workload/device.hpp"

#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// A platform with what its device files say of its kinds.
struct DescribedPlatform {
  PlatformSpec spec;
  std::vector<DeviceDescription> devices;  ///< with the names that their kinds have in the platform
  std::vector<std::string> remarks;        ///< on the device files, and on what the platform says otherwise
};

/// The paths of the platform's device files. `path` is that of the platform file.
[[nodiscard]] std::vector<std::string> device_files(const PlatformSpec& spec, const std::string& path);

/// The platform with its device files named from the folder where it is written to.
[[nodiscard]] PlatformSpec written_beside(const std::optional<std::string>& output, PlatformSpec spec,
                                          const std::string& path);

/// The hash of a platform's content with that of its device files, so that it changes with them; that of the content if
/// it has none. **Throws** InputError for a file that cannot be read.
[[nodiscard]] std::string with_device_files(const std::string& content_hash, const PlatformSpec& spec,
                                            const std::string& path);

/// The same hash of a file; of a text that is no platform, or whose device files cannot be read, that of the text.
[[nodiscard]] std::string platform_hash(const FileText& file);

/// Reads the device files of a platform. **Throws** InputError for a file that cannot be read, or has an error.
[[nodiscard]] DescribedPlatform with_device_files(PlatformSpec spec, const std::string& path);

}  // namespace stagecraft
