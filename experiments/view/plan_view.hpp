#pragma once

#include "experiments/run/planning.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"

#include <string>

namespace stagecraft {

struct Plan;

/// A planner's answer as `plan --json` shows it (contract, section 9). `evaluated`: of the plan, if there is one.
[[nodiscard]] Detail::Record planning_record(const Planning& planning, const Figures& evaluated,
                                             const Platform& platform, bool timings);

/// The same for people: the stages, what was predicted and evaluated, or why there is no plan.
[[nodiscard]] std::string planning_text(const Planning& planning, const Report& evaluated, const Platform& platform,
                                        bool timings);

/// Why there is no plan, and on a line of its own, after `indent`, what would do. **Requires** an infeasible answer.
[[nodiscard]] std::string infeasible_text(const Planning& planning, const Platform& platform,
                                          const std::string& indent);

/// Each stage's layers, devices, actions (contract, section 9), in-flight count and weight versions.
[[nodiscard]] Detail::List stage_list(const LayerGraph& graph, const Platform& platform, const Plan& plan);

/// A plan for people: its stages with the time and the memory that `evaluated` found, what was predicted and evaluated.
[[nodiscard]] std::string plan_text(const LayerGraph& graph, const Platform& platform, const Plan& plan,
                                    const Report& evaluated);

/// Replicas of each stage, as in `15-1`; `16 x 1` where all are alike.
[[nodiscard]] std::string configuration_text(const Plan& plan);

}  // namespace stagecraft
