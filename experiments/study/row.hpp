#pragma once

#include "sim/model/detail.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// How a cell ended (docs/reference/study-results.md).
enum class CellStatus { Ok, Infeasible, OutOfMemory, Timeout, Crashed, Invalid };

[[nodiscard]] const char* to_string(CellStatus status);
[[nodiscard]] const std::vector<CellStatus>& all_statuses();

/// Whether the cell has no answer: it crashed, ran out of time, or is invalid.
[[nodiscard]] bool is_failure(CellStatus status);

/// Whether the status depends on the machine and the moment (`timeout`, `crashed`), so that another run may end
/// differently.
[[nodiscard]] bool depends_on_machine(CellStatus status);

/// The result of one cell of a study.
struct Row {
  std::string key;  ///< of the cell, a SHA-256
  CellStatus status = CellStatus::Ok;
  std::string message;     ///< why the cell failed or has no plan, or which sizes its search left open; else empty
  Detail::Record figures;  ///< by the names that `results.csv` has (docs/reference/study-results.md)
  Detail::Record timings;  ///< `planning_time_s` and `wall_time_s`; differ from run to run
  friend bool operator==(const Row&, const Row&) = default;
};

/// A row as one line of JSON, without the end of the line.
[[nodiscard]] std::string to_line(const Row& row);

/// A row as it is written to a shard. Only its status is needed before the results are collected, so the line is not
/// parsed.
struct RowLine {
  CellStatus status = CellStatus::Ok;
  std::string line;
};
[[nodiscard]] inline RowLine row_line(const Row& row) { return {row.status, to_line(row)}; }

/// The row that a line holds; none for a line that is torn or damaged.
[[nodiscard]] std::optional<Row> parse_row(std::string_view line);

}  // namespace stagecraft
