#pragma once

#include "planners/shared/savings/saving.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace stagecraft {

/// Runs of the units of a stage, each as one unit.
struct UnitRuns {
  std::vector<std::size_t> begins;  ///< of each, and the number of units
  std::vector<SavingUnit> units;
};

/// A planner's own rules for what each of some units does; none if they find nothing that fits.
using SavingRule = std::function<std::optional<StageSaving>(std::span<const SavingUnit>, const StageBudget&)>;

/// Calls with the units of a stage in 1, 2, 3, 4, 6, 8, 12, … runs of about equal stash, in the order of decreasing
/// numbers, until it is enough. A run begins where its checkpoint is least, within a quarter of its stash. None without
/// segments. **Cost** O(log units) times that of the segments of the runs.
/// **Source** runs of equal stash are those of Chen et al. 2016, arXiv 1604.06174, section 4.
void for_divisions(const SavingStage& stage, const std::function<bool(UnitRuns)>& is_enough);

/// What the rule finds. Where that recomputes, or is nothing, it is asked again for each of the divisions, whose runs
/// may be recomputed as segments; of what it finds the fastest, of equals that with the smallest runs.
/// **Cost** O(log units) times that of the rule, and that of the divisions.
[[nodiscard]] std::optional<StageSaving> by_rule_with_segments(const SavingStage& stage, const SavingRule& rule);

/// Whether the stage fits if it is divided in one of these ways, or into its units.
/// **Cost** that of the divisions and of `least_saved_memory` for each, without segments.
[[nodiscard]] bool fits_divided(const SavingStage& stage);

}  // namespace stagecraft
