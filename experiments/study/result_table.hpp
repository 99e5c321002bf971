#pragma once

#include "experiments/study/result_columns.hpp"
#include "experiments/study/results.hpp"
#include "sim/model/detail.hpp"

#include <cstddef>
#include <functional>
#include <vector>

namespace stagecraft {

/// A table of a study's results (docs/reference/study-results.md). Its rows are made one at a time, because all rows
/// together would take more memory than the results themselves.
struct ResultTable {
  std::vector<ResultColumn> columns;  ///< no two names differ only in the case of their letters
  std::size_t row_count = 0;
  std::function<std::vector<Detail>(std::size_t)> row;  ///< as long as the columns, null where there is no such value
};

/// A row for each cell that has one, by cell. Columns: `cell`, `key`, `status`, `message`, `seed`; the configuration
/// keys of all cells, with rows or without, in order of first appearance; the figures in the order of `figure_columns`.
/// **Requires** results that outlive the table.
/// **Throws** InternalError for a figure that has no column.
/// **Cost** O(cells · keys + figures), then O(columns) for each row.
[[nodiscard]] ResultTable result_table(const Results& results);

/// A row for each cell that has one: `key`, `planning_time_s`, `wall_time_s`. These columns have a table of their own,
/// because they differ from run to run.
/// **Requires** results that outlive the table.
[[nodiscard]] ResultTable timing_table(const Results& results);

}  // namespace stagecraft
