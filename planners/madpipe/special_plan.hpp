#pragma once

#include "planners/madpipe/settings.hpp"
#include "planners/planner.hpp"
#include "planners/shared/chain.hpp"
#include "sim/base/ticks.hpp"

#include <cstdint>
#include <optional>

namespace stagecraft::madpipe {

/// The result of the two phases with a special device that may have several stages.
struct SpecialPlan {
  std::optional<Plan> plan;  ///< with its pattern and its peaks; none if nothing fits with a period up to `longest`
  Ticks period = 0;          ///< of the plan
  std::optional<Ticks> dp_period;  ///< the period that phase 1 estimates; none if it finds no allocation
  std::int64_t nodes = 0;          ///< of the integer program
  bool limit_struck = false;       ///< the node limit was reached or the solver failed; there may be a better pattern
};

/// Runs phase 1 (allocation), merges neighbours, runs phase 2 (pattern), and checks the plan with the memory ledger. On
/// a chain of equal devices the ledger counts at most as much memory as phase 2. On a graph it may count more; then
/// everything is repeated with less memory, a few times.
/// **Shape** `longest`: longer periods are not wanted.
[[nodiscard]] SpecialPlan special_plan(const PlannerInfo& planner, const PlanRequest& request, const Settings& settings,
                                       Ticks longest);

/// A period that is long enough for any stages of the chain to run one microbatch at a time.
[[nodiscard]] Ticks longest_period(const Chain& chain);

}  // namespace stagecraft::madpipe
