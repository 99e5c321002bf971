#pragma once

#include "experiments/run/plan_ladder.hpp"
#include "sim/model/detail.hpp"

#include <string>

namespace stagecraft {

struct Platform;

/// What `plan --json` and `simulate --json` have as `least_possible` (docs/reference/report.md).
[[nodiscard]] Detail::Record ladder_record(const PlanLadder& ladder);

/// The same as a table: how much each step could gain at most, and what would gain it.
[[nodiscard]] std::string ladder_text(const PlanLadder& ladder, const Platform& platform);

}  // namespace stagecraft
