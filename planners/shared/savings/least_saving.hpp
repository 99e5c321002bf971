#pragma once

#include "planners/shared/savings/saving.hpp"

#include <cstddef>

namespace stagecraft {

/// The choices that `least_saved_memory` follows before each unit, at most; with segments a tenth.
inline constexpr std::size_t kMostNeeds = 1000;
/// The least memory with which a stage fits under any actions, or less where more choices would have to be followed.
/// **Cost** without segments O(units) mostly, O(units · `kMostNeeds`) at worst; with segments O(units²) and O(units² ·
/// `kMostNeeds`).
[[nodiscard]] Bytes least_saved_memory(const SavingStage& stage);

/// No more than that, for a stage with segments. **Cost** O(units).
[[nodiscard]] Bytes saved_memory_bound(const SavingStage& stage);

}  // namespace stagecraft
