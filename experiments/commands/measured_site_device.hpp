#pragma once

#include "experiments/measured/measured_site.hpp"
#include "experiments/run/settings.hpp"
#include "sim/model/platform.hpp"
#include "sim/workload/device.hpp"

#include <optional>
#include <string>

namespace stagecraft {

/// The device of a site: `asked` (`--device`), or else the platform's kind from the catalogue, in the site's precision,
/// with the name that the platform has for it, so that its file is found there. Without a precision it is in that which
/// `plan` would take.
/// **Throws** InputError for a platform with several kinds, for a kind that is not known if none is asked for, and as
/// `load_device` and `in_precision`.
[[nodiscard]] DeviceDescription device_of_site(const MeasuredSite& site, const Platform& platform,
                                               const std::optional<std::string>& asked, const Settings& settings);

}  // namespace stagecraft
