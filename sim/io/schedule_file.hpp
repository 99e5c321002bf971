#pragma once

#include "sim/model/platform.hpp"
#include "sim/model/schedule.hpp"

#include <string>
#include <string_view>

namespace stagecraft {

/// The orders that the text of a file of the schema `stagecraft/schedule/1` gives, YAML or JSON
/// (docs/reference/formats/schedule.md), devices and channels in file order; `file_name` is used in messages only.
/// Whether they fit a plan is checked by `check_schedule`.
/// **Throws** InputError naming the place of the first defect, devices that the platform does not know included.
/// **Cost** O(actions + devices).
[[nodiscard]] Schedule parse_schedule(std::string_view text, const std::string& file_name, const Platform& platform);

}  // namespace stagecraft
