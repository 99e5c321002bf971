#pragma once

#include "planners/shared/savings/saving.hpp"

#include <cstddef>
#include <optional>

namespace stagecraft {

/// The partial choices that `exact_savings` follows before each unit, at most; with segments ten times as many divided
/// by the square of the units, but at least 16.
inline constexpr std::size_t kSavingWidth = 10'000;

struct ExactSavings {
  std::optional<StageSaving> saving;  ///< none if nothing fits
  bool is_exact = true;  ///< false if partial choices were dropped; then there may be a better saving, or one at all
};

/// The actions with the least time that fit, runs of units recomputed as one segment among them. Of several such
/// savings it is `known`, one that the caller has already, or else always the same one.
///
/// Units are taken from the last one to the first, those of a segment at once. A partial choice is dropped if another
/// one of the same units needs neither more memory (now, and whatever the next unit needs) nor more recomputation nor
/// more copies, or if its lower bound (`SavingBound`) is not below the time of a saving that is known. If more than
/// `width` are left, half of those that are followed have the smallest bounds, and half lack least memory.
/// **Cost** O(units · width log² width) at worst, with segments for a width that is as much smaller.
[[nodiscard]] ExactSavings exact_savings(const SavingStage& stage,
                                         const std::optional<StageSaving>& known = std::nullopt,
                                         std::size_t width = kSavingWidth);

}  // namespace stagecraft
