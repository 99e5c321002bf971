#pragma once

#include "planners/shared/savings/saving.hpp"

#include <functional>
#include <optional>
#include <span>

namespace stagecraft::vpipe {

using FindSavings = std::function<std::optional<StageSaving>(std::span<const SavingUnit>, const StageBudget&)>;

/// Consecutive units as one: recomputed, it keeps the checkpoint of the first and restores all the rest at once.
/// **Requires** at least one unit.
[[nodiscard]] SavingUnit joined(std::span<const SavingUnit> units);

/// The saving with the least time in which the last units of the stage are recomputed as one segment and `find` decides
/// which of the others are swapped; of equal times the one with the shortest segment, which may be empty. None if
/// `find` finds none for any segment. **Cost** as `find` for each length of the segment.
/// **Source** vPipe's repository: the last ⌊ratio · units⌋ units of a stage are one checkpoint segment. Swapping and
/// the choice of the length are ours.
[[nodiscard]] std::optional<StageSaving> suffix_savings(std::span<const SavingUnit> units, const StageBudget& budget,
                                                        const FindSavings& find);

}  // namespace stagecraft::vpipe
