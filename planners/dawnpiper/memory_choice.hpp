#pragma once

#include "planners/shared/savings/saving.hpp"

#include <optional>
#include <span>
#include <vector>

namespace stagecraft::dawnpiper {

/// Chooses the actions of a stage's units: swaps that cost no time, then the units that save the most memory per
/// second, then whatever takes the least memory; what turns out not to be needed is kept again. None if nothing of that
/// fits.
/// **Cost** O(units²) at worst, O(units log units) if nothing can be swapped.
/// **Source** after Capuchin (Peng et al. 2020); our reconstruction of DawnPiper's cost model.
[[nodiscard]] std::optional<StageSaving> choose_memory(std::span<const SavingUnit> units, const StageBudget& budget);

/// The time from a unit's forward until its backward in a full pipeline: the computation of the stage for the other
/// microbatches in flight, and that of the units behind it. By unit. **Cost** O(units).
[[nodiscard]] std::vector<Seconds> free_times(std::span<const SavingUnit> units, const StageBudget& budget);

}  // namespace stagecraft::dawnpiper
