#pragma once

#include "experiments/commands/plan_folder.hpp"
#include "experiments/measured/validation.hpp"
#include "sim/model/platform.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// The folder for the plans of the steps of a site.
/// **Throws** InputError as `PlanFolder`, and as `refuse_overwriting` for the other files that `save_steps` writes.
/// They replace none of `files_read`.
[[nodiscard]] PlanFolder folder_for_steps(const MeasuredSite& site, const std::string& folder,
                                          const std::vector<std::string>& files_read);

/// Writes the plan of each step to `FOLDER/NAME.yaml`, the network of a step that replaces sizes of its file to
/// `FOLDER/NAME.network.yaml`, and the command that simulates each to `FOLDER/commands.sh`, whose name is returned.
/// **Requires** a folder that `folder_for_steps` gave for this site. **Throws** InputError if a file cannot be written.
[[nodiscard]] std::string save_steps(const Validation& validation, const Platform& platform, const PlanFolder& plans);

}  // namespace stagecraft
