#include "experiments/commands/named_device.hpp"

#include "experiments/commands/shared_options.hpp"
#include "experiments/run/named_model.hpp"
#include "experiments/run/option_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/device_file.hpp"
#include "sim/io/file_remarks.hpp"
#include "sim/io/text_file.hpp"
#include "sim/workload/catalogue.hpp"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace stagecraft {

bool may_be_file(const std::string& name) {
  std::error_code ignored;
  return name.find('/') != std::string::npos || name.ends_with(".yaml") || std::filesystem::exists(name, ignored);
}

DeviceDescription load_device(const std::string& name, const Settings& settings) {
  if (auto known = find_device(name)) return *std::move(known);
  if (may_be_file(name)) {
    const std::string text = read_text_file(name);
    DeviceDescription device = parse_device(text, name);
    tell_remarks(file_remarks(text, name), settings);
    return device;
  }
  std::vector<std::string> names;
  for (const WorkloadInfo& known : known_devices()) names.push_back(known.name);
  throw InputError("no file and no known device is called " + quote(name), {"", 0, 0, "--device"},
                   suggest_name(name, names));
}

DeviceDescription in_precision(const DeviceDescription& device, const std::string& precision) {
  std::vector<std::string> known;
  for (const Precision each : kAllPrecisions) known.emplace_back(to_string(each));
  const Precision mode = *precision_of(read_choice_option("--precision", precision, known));
  try {
    static_cast<void>(peak(device, mode));
  } catch (const InputError& error) {
    throw InputError(error.message(), {"", 0, 0, "--precision"}, error.hint());
  }
  if (auto same = find_device(device.name, mode); same && find_device(device.name) == device) return *same;
  DeviceDescription other = device;
  other.precision = mode;
  return other;
}

std::optional<std::string> chosen_precision(const std::string& device, const std::optional<std::string>& asked) {
  if (asked) return asked;
  const auto known = find_device(device);
  return known ? usual_precision(*known, {}) : std::nullopt;
}

}  // namespace stagecraft
