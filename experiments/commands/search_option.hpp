#pragma once

#include "experiments/commands/shared_options.hpp"
#include "experiments/run/search_axes.hpp"

#include <optional>
#include <string>

namespace stagecraft {

/// What `--search` names; nothing if it is not given.
/// **Throws** InputError as `read_search_option`, and where an option gives the value of an axis, too, or is a search
/// of its own.
[[nodiscard]] SearchSpace read_search_space(const std::optional<std::string>& search, const PlanningOptions& options);

}  // namespace stagecraft
