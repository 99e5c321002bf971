#pragma once

#include "experiments/commands/verb.hpp"
#include "experiments/run/planning.hpp"
#include "experiments/run/settings.hpp"
#include "sim/model/platform.hpp"

#include <optional>
#include <string>

namespace stagecraft {

/// The answer, after the plan has been written to the file that the user names with --output, as JSON if its name ends
/// in .json. With `-` the plan itself is what the answer prints; what it would have printed is said if there is no
/// plan.
/// **Throws** InputError if the file cannot be written.
[[nodiscard]] Answer with_plan_written(const std::optional<std::string>& output, const Planning& planning,
                                       const Platform& platform, const Settings& settings, Answer answer);

}  // namespace stagecraft
