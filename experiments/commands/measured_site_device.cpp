#include "experiments/commands/measured_site_device.hpp"

#include "experiments/commands/named_device.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/workload/catalogue.hpp"

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

}  // namespace

DeviceDescription device_of_site(const MeasuredSite& site, const Platform& platform,
                                 const std::optional<std::string>& asked, const Settings& settings) {
  const std::string kind = kind_of(platform);
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
