#include "experiments/commands/measured_site_device.hpp"

#include "experiments/commands/add_option.hpp"
#include "experiments/commands/named_device.hpp"
#include "experiments/run/named_model.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/workload/catalogue.hpp"

#include <algorithm>
#include <iterator>

namespace stagecraft {
namespace {

/// The kind of all devices of the platform.
std::string kind_of(const Platform& platform) {
  const std::string& name = platform.kind(DeviceId(0)).name;
  for (const DeviceId device : indices(platform.devices)) {
    if (platform.kind(device).name == name) continue;
    throw InputError("the platform " + quote(platform.spec.name) + " has several kinds of devices", {},
                     "steps have the constants of one kind: give a platform that has only the devices of the steps");
  }
  return name;
}

/// The device in that mode, or else in that which `plan` would take.
DeviceDescription in_mode(const DeviceDescription& device, const std::optional<std::string>& asked) {
  const std::optional<std::string> precision = asked ? asked : usual_precision(device, {});
  return precision ? in_precision(device, *precision) : device;
}

}  // namespace

void add_site_options(CLI::App& command, SiteOptions& options, const std::string& device_help) {
  add_option(command, "--platform", options.defaults.platform,
             "the platform that they ran on, with devices of one kind: a file, or the name of a shipped one; where the "
             "table does not say it");
  add_option(command, "--device", options.device,
             device_help +
                 ": a name from 'stagecraft list devices', or a device file; default: the platform's kind, by its "
                 "device file or the catalogue");
  add_option(command, "--precision", options.defaults.precision,
             "fp32, tf32, bf16, fp16 or fp8: the mode that the steps ran in, where the table does not say it; default: "
             "bf16 or else fp16 where a known device has it, or else that of the device file");
}

std::vector<std::string> files_read_by(const std::vector<std::string>& tables, const std::vector<MeasuredSite>& sites,
                                       const SiteOptions& options) {
  std::vector<std::string> files = tables;
  for (const MeasuredSite& site : sites) {
    files.push_back(find_input(site.platform, InputKind::Platform));
    std::ranges::copy(device_files(load_platform_spec(site.platform), files.back()), std::back_inserter(files));
  }
  if (options.device) files.push_back(*options.device);
  return files;
}

DeviceDescription device_of_site(const MeasuredSite& site, const DescribedPlatform& platform,
                                 const std::optional<std::string>& asked, const Settings& settings) {
  const std::string kind = kind_of(build_platform(platform.spec));
  const auto own = std::ranges::find(platform.devices, kind, &DeviceDescription::name);
  if (!asked && own != platform.devices.end()) return in_mode(*own, site.precision);
  if (!asked && !find_device(kind)) {
    throw InputError(
        "--device is required", {},
        "the platform's kind " + quote(kind) + " is not known by name; give the nearest known one, or a device file");
  }
  const std::string name = asked.value_or(kind);
  DeviceDescription device = load_device(name, settings);
  if (const auto precision = chosen_precision(name, site.precision)) device = in_precision(device, *precision);
  device.name = kind;
  return device;
}

}  // namespace stagecraft
