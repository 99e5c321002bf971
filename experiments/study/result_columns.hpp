#pragma once

#include "sim/model/detail.hpp"

#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// The type of a column's values. `Any` is for a configuration key whose values have several types.
enum class ColumnType { Whole, Real, Text, Json, Any };

struct ResultColumn {
  std::string name;
  ColumnType type = ColumnType::Any;
  friend bool operator==(const ResultColumn&, const ResultColumn&) = default;
};

/// The figures that a row may have, in the order of their columns. Their units are in docs/reference/study-results.md.
[[nodiscard]] const std::vector<ResultColumn>& figure_columns();

/// The first figure that has no column, or whose value has another type than its column; none if all fit. Null fits
/// every column, and a whole number fits a column of real numbers. Code that makes rows checks them with this function.
[[nodiscard]] std::optional<std::string> find_misfit(const Detail::Record& figures);

/// The narrowest type for a column of type `type` to which `value` is added; `type` is none before the first value.
[[nodiscard]] std::optional<ColumnType> widen(std::optional<ColumnType> type, const Detail& value);

}  // namespace stagecraft
