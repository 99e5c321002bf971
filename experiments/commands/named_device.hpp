#pragma once

#include "experiments/run/settings.hpp"
#include "sim/workload/device.hpp"

#include <optional>
#include <string>

namespace stagecraft {

/// Whether a name that is not known may be the path of a YAML file.
[[nodiscard]] bool may_be_file(const std::string& name);

/// The device of a name from the catalogue, or else of a device file, in the precision of its description.
/// **Throws** InputError for a name that is neither, and for an error in the file.
[[nodiscard]] DeviceDescription load_device(const std::string& name, const Settings& settings);

/// The device in that mode in place of its own. A file has one efficiency for all modes.
/// **Throws** InputError, at `--precision`, for an unknown mode and one that the device lacks.
[[nodiscard]] DeviceDescription in_precision(const DeviceDescription& device, const std::string& precision);

/// The mode that was asked for, or what `plan` would take for a known device; none: that of the device's description.
[[nodiscard]] std::optional<std::string> chosen_precision(const std::string& device,
                                                          const std::optional<std::string>& asked);

}  // namespace stagecraft
