#pragma once

#include "planners/madpipe/settings.hpp"
#include "planners/planner.hpp"
#include "planners/shared/chain.hpp"
#include "sim/base/ticks.hpp"

#include <cstdint>
#include <optional>

namespace stagecraft::madpipe {

/// What the two phases find with a special device that may have several stages.
struct SpecialPlan {
  std::optional<Plan> plan;        ///< with its pattern and its peaks; none: nothing fits within `longest`
  Ticks period = 0;                ///< of the plan
  std::optional<Ticks> dp_period;  ///< what phase 1 estimates; none: it finds no allocation
  std::int64_t nodes = 0;          ///< of the integer program
  bool limit_struck = false;       ///< or the solver failed: there may be a better pattern
};

/// Phase 1 (allocation), merging of neighbours, phase 2 (pattern), and the ledger's judgement. On a chain of equal
/// devices the ledger counts what phase 2 counts or less. On a graph it may count more: then all is done again with
/// less memory, a few times.
/// **Shape** `longest`: periods above are of no use.
[[nodiscard]] SpecialPlan special_plan(const PlannerInfo& planner, const PlanRequest& request, const Settings& settings,
                                       Ticks longest);

/// The period with which any stages of the chain run one microbatch at a time.
[[nodiscard]] Ticks longest_period(const Chain& chain);

}  // namespace stagecraft::madpipe
