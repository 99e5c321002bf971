#pragma once

#include "experiments/measured/validation.hpp"
#include "sim/model/platform.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// Writes the plan of each step to `FOLDER/NAME.yaml`, the network of a step that replaces sizes of its file to
/// `FOLDER/NAME.network.yaml`, and the command that simulates each to `FOLDER/commands.sh`, whose name is returned.
/// `files_read` are not replaced.
/// **Throws** InputError as `PlanFolder` and `refuse_overwriting`, for names that are not unique too.
[[nodiscard]] std::string save_steps(const Validation& validation, const Platform& platform, const std::string& folder,
                                     const std::vector<std::string>& files_read);

}  // namespace stagecraft
