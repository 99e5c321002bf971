#pragma once

#include "sim/model/detail.hpp"

#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// What the values of a column are. `Any` is a configuration key that cells give values of several kinds.
enum class ColumnType { Whole, Real, Text, Json, Any };

struct ResultColumn {
  std::string name;
  ColumnType type = ColumnType::Any;
  friend bool operator==(const ResultColumn&, const ResultColumn&) = default;
};

/// The figures that a row may have, in the order of their columns; docs/reference/study-results.md tells their units.
[[nodiscard]] const std::vector<ResultColumn>& figure_columns();

/// The first figure that no column is for, or whose value is of another type than its column; whoever makes rows checks
/// them by this. Null fits everywhere, a whole number where a real one is expected.
[[nodiscard]] std::optional<std::string> find_misfit(const Detail::Record& figures);

/// The narrowest type that takes all values of a column of type `type` and this one; `type` is none before the first.
[[nodiscard]] std::optional<ColumnType> widen(std::optional<ColumnType> type, const Detail& value);

}  // namespace stagecraft
