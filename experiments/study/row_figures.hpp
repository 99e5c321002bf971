#pragma once

#include "experiments/study/row.hpp"

#include <optional>
#include <string_view>

namespace stagecraft {

/// A figure that reports compute from two others: `iteration_time_s` / `load_s`.
inline constexpr std::string_view kLoadRatio = "load_ratio";

/// The one figure with parts that a column of a report may show, as a text of its shares.
inline constexpr std::string_view kRestsOn = "rests_on";

/// A figure of the row: a column of results, `load_ratio`, or `details.NAME` for a figure of the planner's own; null if
/// the row has no such figure.
[[nodiscard]] Detail figure_of(const Row& row, std::string_view name);

/// The same if the figure is a number, otherwise none.
[[nodiscard]] std::optional<double> number_of(const Row& row, std::string_view name);

}  // namespace stagecraft
