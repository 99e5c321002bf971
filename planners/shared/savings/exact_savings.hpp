#pragma once

#include "planners/shared/savings/saving.hpp"

#include <cstddef>
#include <optional>
#include <span>

namespace stagecraft {

/// The partial choices that `exact_savings` follows after each unit, at most.
inline constexpr std::size_t kSavingWidth = 10'000;

struct ExactSavings {
  std::optional<StageSaving> saving;  ///< none if nothing fits
  bool is_exact = true;  ///< false if partial choices were dropped; then there may be a better saving, or one at all
};

/// The actions with the least time that fit. Of several such savings it is `known`, one that the caller has already,
/// or else always the same one.
///
/// Units are taken from the last one to the first. A partial choice is dropped if another one needs neither more memory
/// (now, and whatever the next unit needs) nor more recomputation nor more copies, or if its lower bound
/// (`SavingBound`) is not below the time of a saving that is known. If more than `width` are left, those with the
/// smallest bounds are followed.
/// **Cost** O(units · width log² width) at worst. Stages of up to 40 different units mostly take far less than a
/// millisecond.
[[nodiscard]] ExactSavings exact_savings(std::span<const SavingUnit> units, const StageBudget& budget,
                                         const std::optional<StageSaving>& known = std::nullopt,
                                         std::size_t width = kSavingWidth);

}  // namespace stagecraft
