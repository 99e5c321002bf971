#pragma once

#include "experiments/measured/measured_site.hpp"
#include "experiments/run/described_platform.hpp"
#include "experiments/run/settings.hpp"
#include "sim/model/platform.hpp"
#include "sim/workload/device.hpp"

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stagecraft {

/// Where measured steps ran and on which device, as far as their table does not say it.
struct SiteOptions {
  SiteDefaults defaults;
  std::optional<std::string> device;
};

/// `--platform`, `--device` and `--precision`; `device_help` says what the device is for.
void add_site_options(CLI::App& command, SiteOptions& options, const std::string& device_help);

/// The tables, the platforms of their sites and device files: no output may replace them.
[[nodiscard]] std::vector<std::string> files_read_by(const std::vector<std::string>& tables,
                                                     const std::vector<MeasuredSite>& sites,
                                                     const SiteOptions& options);

/// The device of a site: `asked` (`--device`), or else the platform's kind from its device file or the catalogue, in
/// the site's precision, with the name that the platform has for it, so that its file is found there. Without a
/// precision it is in that which `plan` would take.
/// **Throws** InputError for a platform with several kinds, for a kind that is not known if none is asked for, and as
/// `load_device` and `in_precision`.
[[nodiscard]] DeviceDescription device_of_site(const MeasuredSite& site, const DescribedPlatform& platform,
                                               const std::optional<std::string>& asked, const Settings& settings);

}  // namespace stagecraft
