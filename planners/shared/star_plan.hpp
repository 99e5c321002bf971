#pragma once

#include "planners/planner.hpp"
#include "planners/shared/chain.hpp"
#include "sim/base/ticks.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/periodic.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace stagecraft {

/// Microbatches in flight at each contiguous stage under 1F1B*. **Requires** a period no less than any load.
[[nodiscard]] std::vector<std::int64_t> stages_in_flight(const Chain& chain, std::span<const ChainStage> stages,
                                                         Ticks period);

/// Stages that run a pattern, as a plan that claims its period.
[[nodiscard]] Plan pattern_plan(const PlannerInfo& planner, const PlanRequest& request, const Chain& chain,
                                std::span<const ChainStage> stages, const TickPattern& pattern);

/// Contiguous stages under 1F1B*, as a plan that claims the period. **Requires** a period no less than any load.
[[nodiscard]] Plan star_plan(const PlannerInfo& planner, const PlanRequest& request, const Chain& chain,
                             std::span<const ChainStage> stages, Ticks period);

/// The single figures that stand for the whole platform: `bandwidth_bytes_per_s` (null for one device), `memory_bytes`,
/// `time_factor`.
[[nodiscard]] Detail::Record chain_figures(const PlanRequest& request, const Chain& chain);

}  // namespace stagecraft
