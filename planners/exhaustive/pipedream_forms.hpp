#pragma once

#include "planners/planner.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/plan.hpp"

#include <optional>
#include <vector>

namespace stagecraft::exhaustive {

/// The period that PipeDream's two formulas give for a plan, on one level of the smallest bandwidth of two devices.
struct PipedreamForms {
  Seconds paper;    ///< max of the stages' max(C, S) / r and of the boundaries' 2 O / B
  Seconds program;  ///< max of the stages' (C + S) / r and of the boundaries' 2 O / (B q)
};

/// For a stage of r replicas, C is its computation for a microbatch on the slowest device of the platform, and S =
/// 4 (r - 1) / r · parameters / B its synchronisation. For a boundary, O is what its sender passes on, and q the number
/// of replicas of either side, except that of the first stage. None if two devices are not connected.
[[nodiscard]] std::optional<PipedreamForms> pipedream_forms(const PlanRequest& request,
                                                            const std::vector<Stage>& stages);

}  // namespace stagecraft::exhaustive
