#pragma once

#include "planners/planner.hpp"

#include <vector>

namespace stagecraft::pipedream {

/// The option table of the planners that run PipeDream's dynamic program.
[[nodiscard]] std::vector<OptionInfo> options();

}  // namespace stagecraft::pipedream
