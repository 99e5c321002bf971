#pragma once

#include "sim/model/detail.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/schedule.hpp"

#include <string>
#include <string_view>

namespace stagecraft {

/// The orders that a file of the schema `stagecraft/schedule/1` gives, YAML or JSON
/// (docs/reference/formats/schedule.md), devices and channels in file order. Whether they fit a plan is checked by
/// `check_schedule`.
/// **Throws** InputError naming the place of the first defect, devices that the platform does not know included.
/// **Cost** O(actions + devices).
[[nodiscard]] Schedule read_schedule_file(const std::string& path, const Platform& platform);

/// The same of a text; `file_name` is used in messages only.
[[nodiscard]] Schedule parse_schedule(std::string_view text, const std::string& file_name, const Platform& platform);

/// The keys and values of a schedule file, the same for YAML and JSON.
/// **Requires** at most one order of each device and each channel, not both explicit transfers and rendezvous, and
/// joined actions without keys of their own, each after one that is not joined.
[[nodiscard]] Detail::Record schedule_record(const Schedule& schedule, const Platform& platform);

/// Texts that `parse_schedule` reads back to an equal value; they require what `schedule_record` does.
[[nodiscard]] std::string write_schedule_yaml(const Schedule& schedule, const Platform& platform);
[[nodiscard]] std::string schedule_to_json(const Schedule& schedule, const Platform& platform);

}  // namespace stagecraft
