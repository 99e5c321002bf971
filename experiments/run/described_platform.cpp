#include "experiments/run/described_platform.hpp"

#include "experiments/run/written_file.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/device_file.hpp"
#include "sim/io/file_remarks.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/io/text_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

namespace stagecraft {
namespace {

std::string path_of(const DeviceKind& kind, const std::string& platform) {
  return (std::filesystem::path(platform).parent_path() / kind.device_file).string();
}

std::string text_of(const DeviceKind& kind, const std::string& file, const std::string& platform) {
  try {
    return read_text_file(file);
  } catch (const InputError& error) {
    throw InputError(quote(file) + " " + error.message(),
                     {platform, 0, 0, "device_kinds." + kind.name + ".device_file"}, error.hint());
  }
}

}  // namespace

std::vector<std::string> device_files(const PlatformSpec& spec, const std::string& path) {
  std::vector<std::string> files;
  for (const DeviceKind& kind : spec.device_kinds) {
    if (!kind.device_file.empty()) files.push_back(path_of(kind, path));
  }
  return files;
}

PlatformSpec written_beside(const std::optional<std::string>& output, PlatformSpec spec, const std::string& path) {
  for (DeviceKind& kind : spec.device_kinds) {
    if (!kind.device_file.empty()) kind.device_file = path_beside(output, path_of(kind, path));
  }
  return spec;
}

std::string with_device_files(const std::string& content_hash, const PlatformSpec& spec, const std::string& path) {
  std::string hash = content_hash;
  for (const std::string& file : device_files(spec, path)) hash = sha256(hash + read_text_file(file));
  return hash;
}

std::string platform_hash(const FileText& file) {
  std::string hash = sha256(file.text);
  if (file.text.find("device_file") == std::string::npos) return hash;
  try {
    return with_device_files(hash, parse_platform(file.text, file.path), file.path);
  } catch (const InputError&) {
    return hash;  // who reads it will say what is wrong
  }
}

DescribedPlatform with_device_files(PlatformSpec spec, const std::string& path) {
  DescribedPlatform platform{std::move(spec), {}, {}};
  for (const DeviceKind& kind : platform.spec.device_kinds) {
    if (kind.device_file.empty()) continue;
    const std::string file = path_of(kind, path);
    const std::string text = text_of(kind, file, path);
    DeviceDescription& device = platform.devices.emplace_back(parse_device(text, file));
    device.name = kind.name;
    std::ranges::move(file_remarks(text, file), std::back_inserter(platform.remarks));
    if (device.memory == kind.memory) continue;
    platform.remarks.push_back(fmt::format("{}: memory: the {} of the platform count, not {}", file,
                                           format_human_bytes(kind.memory), format_human_bytes(device.memory)));
  }
  return platform;
}

}  // namespace stagecraft
