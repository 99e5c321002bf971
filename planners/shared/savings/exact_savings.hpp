#pragma once

#include "planners/shared/savings/saving.hpp"

#include <cstddef>
#include <optional>
#include <span>

namespace stagecraft {

/// The partial choices that `exact_savings` follows after each unit, at most.
inline constexpr std::size_t kSavingWidth = 10'000;

struct ExactSavings {
  std::optional<SavingPlan> plan;  ///< none if nothing fits
  bool is_exact = true;  ///< false if partial choices had to be dropped; then there may be a better plan, or one at all
};

/// The actions with the least time that fit. Of several such plans it is `known`, a plan that the caller has already,
/// or else always the same one.
///
/// Units are taken one after the other. A partial choice is dropped if another one needs neither more memory nor more
/// recomputation nor more copies, or if its lower bound (`SavingBound`) is not below the time of a plan that is known.
/// If more than `width` are left, those with the smallest bounds are followed.
/// **Cost** O(units · width log width) at worst. Stages of up to 40 different units mostly take far less than a
/// millisecond.
[[nodiscard]] ExactSavings exact_savings(std::span<const SavingUnit> units, const StageRoom& room,
                                         const std::optional<SavingPlan>& known = std::nullopt,
                                         std::size_t width = kSavingWidth);

}  // namespace stagecraft
