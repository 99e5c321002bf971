#pragma once

#include "sim/model/detail.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// How a cell ended (contract, section 9).
enum class CellStatus { Ok, Infeasible, OutOfMemory, Timeout, Crashed, Invalid };

[[nodiscard]] const char* to_string(CellStatus status);
[[nodiscard]] const std::vector<CellStatus>& all_statuses();

/// Whether the cell gave no answer: it crashed, ran out of time, or makes no sense.
[[nodiscard]] bool is_failure(CellStatus status);

/// Whether another machine, or this one at another time, may end the cell otherwise.
[[nodiscard]] bool depends_on_machine(CellStatus status);

/// What one cell of a study gave.
struct Row {
  std::string key;  ///< of the cell, a SHA-256
  CellStatus status = CellStatus::Ok;
  std::string message;     ///< why there are no figures; empty if there are
  Detail::Record figures;  ///< by the names that `results.csv` has (docs/reference/study-results.md)
  Detail::Record timings;  ///< `planning_time_s` and `wall_time_s`; differ from run to run
  friend bool operator==(const Row&, const Row&) = default;
};

/// A row as one line of JSON, without the end of the line.
[[nodiscard]] std::string to_line(const Row& row);

/// A row on its way to a shard: nobody reads its line before the results are collected.
struct RowLine {
  CellStatus status = CellStatus::Ok;
  std::string line;
};
[[nodiscard]] inline RowLine row_line(const Row& row) { return {row.status, to_line(row)}; }

/// The row that a line holds; none for a line that is torn or damaged.
[[nodiscard]] std::optional<Row> parse_row(std::string_view line);

}  // namespace stagecraft
