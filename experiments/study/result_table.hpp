#pragma once

#include "experiments/study/result_columns.hpp"
#include "experiments/study/results.hpp"
#include "sim/model/detail.hpp"

#include <vector>

namespace stagecraft {

/// The results of a study as one table (docs/reference/study-results.md).
struct ResultTable {
  std::vector<ResultColumn> columns;      ///< no two names differ only in the case of their letters
  std::vector<std::vector<Detail>> rows;  ///< by cell; as long as the columns, null where a cell has no such value
};

/// A row for each cell that has one. Columns: `cell`, `key`, `status`, `message`, `seed`; the configuration keys of all
/// cells, with rows or without, in order of first appearance; the figures in the order of `figure_columns`.
/// **Throws** InternalError for a figure that has no column.
/// **Cost** O(cells · keys + rows · columns).
[[nodiscard]] ResultTable result_table(const Results& results);

/// A row for each cell that has one: `key`, `planning_time_s`, `wall_time_s`. Apart, since they differ from run to run.
[[nodiscard]] ResultTable timing_table(const Results& results);

}  // namespace stagecraft
