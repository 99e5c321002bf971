#pragma once

#include "sim/model/detail.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// How a table combines several values into one.
enum class MeanKind { Geometric, Arithmetic, Smallest, Largest };

/// Values of a table that are not figures of a row.
inline constexpr std::string_view kSpeedUp = "speed_up";  ///< samples/s over those of the study's baseline
inline constexpr std::string_view kRegret = "regret";     ///< the best samples/s of the group over the planner's
inline constexpr std::string_view kOutcome = "outcome";   ///< how the cells ended

/// A cross table of a study's report: one figure, by keys of the cells (docs/reference/formats/study.md).
struct TableChoice {
  std::string title;                 ///< empty: made from the other fields
  std::vector<std::string> rows;     ///< keys of a cell; `planner` stands for the planner with its label and options
  std::vector<std::string> columns;  ///< likewise
  std::string value;                 ///< a figure of a row, `details.NAME`, `speed_up`, `regret` or `outcome`
  MeanKind mean = MeanKind::Arithmetic;
  std::optional<Detail::Record> over;  ///< the value is divided by that of the cell with these keys
  Detail::Record where;                ///< only cells with these keys; empty: all
  friend bool operator==(const TableChoice&, const TableChoice&) = default;
};

/// `geometric`, `arithmetic`, `smallest`, `largest`.
[[nodiscard]] std::string to_string(MeanKind mean);
/// The mean of that name; none for another word.
[[nodiscard]] std::optional<MeanKind> find_mean(std::string_view name);

/// Whether the values are ratios of two times or rates. Their default mean is the geometric one.
[[nodiscard]] bool is_ratio(const TableChoice& table);

}  // namespace stagecraft
