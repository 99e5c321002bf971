#include "experiments/run/described_platform.hpp"

#include "sim/io/device_file.hpp"
#include "sim/io/text_file.hpp"

#include <filesystem>
#include <utility>

namespace stagecraft {
namespace {

std::string path_of(const DeviceKind& kind, const std::string& platform) {
  return (std::filesystem::path(platform).parent_path() / kind.device_file).string();
}

}  // namespace

std::vector<std::string> device_files(const PlatformSpec& spec, const std::string& path) {
  std::vector<std::string> files;
  for (const DeviceKind& kind : spec.device_kinds) {
    if (!kind.device_file.empty()) files.push_back(path_of(kind, path));
  }
  return files;
}

DescribedPlatform with_device_files(PlatformSpec spec, const std::string& path) {
  DescribedPlatform platform{std::move(spec), {}};
  for (const DeviceKind& kind : platform.spec.device_kinds) {
    if (kind.device_file.empty()) continue;
    const std::string file = path_of(kind, path);
    platform.devices.push_back(parse_device(read_text_file(file), file));
    platform.devices.back().name = kind.name;
  }
  return platform;
}

}  // namespace stagecraft
