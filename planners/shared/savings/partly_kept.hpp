#pragma once

#include "planners/shared/savings/saving.hpp"

namespace stagecraft {

/// The saving with what is left of the memory used: some of the microbatches in flight keep units that the others
/// recompute, those first that save most time for a byte. Time and memory are those of the new one. One with swaps
/// stays as it is, for what swaps need is not known exactly.
/// **Requires** a saving that fits. **Cost** O(units log units), and that of the segments.
[[nodiscard]] StageSaving with_some_kept(const SavingStage& stage, StageSaving saving);

}  // namespace stagecraft
