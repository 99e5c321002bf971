#pragma once

#include "planners/madpipe/settings.hpp"
#include "planners/planner.hpp"
#include "planners/shared/costs/chain.hpp"
#include "sim/base/ticks.hpp"

#include <cstdint>
#include <optional>

namespace stagecraft::madpipe {

/// The result of the two phases with a special device that may have several stages.
struct SpecialPlan {
  std::optional<Plan> plan;  ///< with its pattern and its peaks; none if nothing fits with a period up to `longest`
  Ticks period = 0;          ///< of the plan
  std::optional<Ticks> dp_period;  ///< the least period that phase 1 estimates; none if it finds no allocation
  std::int64_t nodes = 0;          ///< of the integer program
  bool limit_struck = false;       ///< the node limit was reached or the solver failed; there may be a better pattern
};

/// Runs phase 1 (allocation), and phase 2 (pattern) for the last allocations that it found, neighbours merged. The best
/// estimate of phase 1 comes first; an earlier allocation is the answer only if its pattern is strictly faster.
/// **Shape** `longest`: longer periods are not wanted.
[[nodiscard]] SpecialPlan special_plan(const PlannerInfo& planner, const PlanRequest& request, const Chain& chain,
                                       const Settings& settings, Ticks longest);

/// A period that is long enough for any stages of the chain to run one microbatch at a time.
[[nodiscard]] Ticks longest_period(const Chain& chain);

}  // namespace stagecraft::madpipe
