#pragma once

#include "experiments/planning.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/platform.hpp"

#include <string>

namespace stagecraft {

/// A planner's answer as `plan --json` shows it (contract, section 9).
[[nodiscard]] Detail::Record planning_record(const Planning& planning, const Platform& platform, bool timings);

/// The same for people: the stages, what was predicted and evaluated, or why there is no plan.
[[nodiscard]] std::string planning_text(const Planning& planning, const Platform& platform, bool timings);

/// Replicas of each stage, as in `15-1`; `16 x 1` where all are alike.
[[nodiscard]] std::string configuration_text(const Plan& plan);

}  // namespace stagecraft
