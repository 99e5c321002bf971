#pragma once

#include "planners/planner.hpp"
#include "planners/shared/costs/chain.hpp"
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

/// A plan of stages that run a pattern; its predicted period is the pattern's.
[[nodiscard]] Plan pattern_plan(const PlannerInfo& planner, const PlanRequest& request, const Chain& chain,
                                std::span<const ChainStage> stages, const TickPattern& pattern);

/// A plan of contiguous stages under 1F1B* with that predicted period. **Requires** a period no less than any load.
[[nodiscard]] Plan star_plan(const PlannerInfo& planner, const PlanRequest& request, const Chain& chain,
                             std::span<const ChainStage> stages, Ticks period);

/// The figures by which a chain represents the whole platform: `bandwidth_bytes_per_s` (null for one device),
/// `memory_bytes`, `time_factor`.
[[nodiscard]] Detail::Record chain_figures(const PlanRequest& request, const Chain& chain);

}  // namespace stagecraft
