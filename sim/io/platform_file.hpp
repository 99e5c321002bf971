#pragma once

#include "sim/model/detail.hpp"
#include "sim/model/platform.hpp"

#include <string>
#include <string_view>

namespace stagecraft {

/// The platform a file of the schema `stagecraft/platform/1` describes (docs/reference/formats/platform.md), ready for
/// `build_platform`: every reference is valid, and it has at most 100,000 devices.
/// **Throws** InputError naming the place of the first defect.
[[nodiscard]] PlatformSpec read_platform_file(const std::string& path);

/// The same of a text; `file_name` is used in messages only.
[[nodiscard]] PlatformSpec parse_platform(std::string_view text, const std::string& file_name);

/// The keys and values of a platform file; speeds given by the user (`speeds`) are left out.
[[nodiscard]] Detail::Record platform_record(const PlatformSpec& spec);

/// The file that `parse_platform` reads back to an equal value; speeds given by the user (`speeds`) are left out.
[[nodiscard]] std::string write_platform(const PlatformSpec& spec);

}  // namespace stagecraft
