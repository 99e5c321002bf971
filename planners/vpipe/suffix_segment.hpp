#pragma once

#include "planners/shared/savings/saving.hpp"

#include <functional>
#include <optional>

namespace stagecraft::vpipe {

using FindSavings = std::function<std::optional<StageSaving>(const SavingStage&)>;

/// The saving with the least time in which the last units of the stage are recomputed as one segment and `find` decides
/// which of the others are swapped; of equal times the one with the shortest segment, which may be empty. None if
/// `find` finds none for any segment. **Cost** as `find` for each length of the segment.
/// **Source** vPipe's repository: the last ⌊ratio · units⌋ units of a stage are one checkpoint segment. Swapping and
/// the choice of the length are ours.
[[nodiscard]] std::optional<StageSaving> suffix_savings(const SavingStage& stage, const FindSavings& find);

}  // namespace stagecraft::vpipe
