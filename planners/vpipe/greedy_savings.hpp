#pragma once

#include "planners/shared/savings/saving.hpp"

#include <optional>
#include <span>

namespace stagecraft::vpipe {

/// vPipe's saving of one stage; none if it finds none that fits. Until the stage fits,
///   1. units are swapped whose copies are hidden behind the computation, the longest forward per byte first;
///   2. kept units are recomputed, the shortest forward per byte saved first;
///   3. units get the action with which they take the least memory (`SavingChoice::take_least_residency`).
/// Then units are kept again where that fits. Of equal units the first comes first.
/// **Cost** O(units log units).
/// **Source** vPipe (Zhao et al. 2022) swaps what the host link can hide and recomputes the rest; the rules are our
/// reconstruction.
[[nodiscard]] std::optional<StageSaving> greedy_savings(std::span<const SavingUnit> units, const StageBudget& budget);

}  // namespace stagecraft::vpipe
