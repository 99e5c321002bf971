#pragma once

#include "experiments/run/planning.hpp"
#include "experiments/run/settings.hpp"
#include "sim/model/platform.hpp"

#include <optional>
#include <string>

namespace stagecraft {

/// The plan as a file of that name: JSON if it ends in .json. **Requires** that there is a plan.
[[nodiscard]] std::string plan_file_text(const Planning& planning, const Platform& platform, const std::string& path);

/// Writes the plan to the file that the user names with --output. If there is no plan, says that nothing is written.
/// **Throws** InputError if the file cannot be written.
void write_plan_output(const std::optional<std::string>& output, const Planning& planning, const Platform& platform,
                       const Settings& settings);

}  // namespace stagecraft
