#pragma once

#include "experiments/study/row.hpp"

#include <optional>
#include <string_view>

namespace stagecraft {

/// A figure that reports make of two: `iteration_time_s` / `load_s`.
inline constexpr std::string_view kLoadRatio = "load_ratio";

/// A figure of the row, with `details.` before its name one of the planner's own, or `load_ratio`; null if there is
/// none.
[[nodiscard]] Detail figure_of(const Row& row, std::string_view name);

/// Likewise, if it is a number.
[[nodiscard]] std::optional<double> number_of(const Row& row, std::string_view name);

}  // namespace stagecraft
