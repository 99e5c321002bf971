#pragma once

#include "experiments/study/results.hpp"
#include "experiments/study/table_choice.hpp"
#include "experiments/study_report/cell_counts.hpp"
#include "experiments/study_report/contenders.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// The cells of a study that meet in one place of a table.
struct TableCell {
  CellCounts counts;           ///< all of them
  std::size_t used = 0;        ///< that have a figure, and one to divide it by where that is asked for
  std::optional<double> mean;  ///< over those used; none if there are none
};

/// A table that the study asks for. Rows and columns are in the order in which their cells appear.
struct CrossTable {
  TableChoice choice;
  std::vector<Keys> rows;                     ///< the keys and values of each row; null if its cells have no such key
  std::vector<Keys> columns;                  ///< likewise
  std::vector<std::vector<TableCell>> cells;  ///< by row and column
  std::vector<TableCell> all;                 ///< by column, over all rows
  std::optional<Keys> over;                   ///< the pattern of the cells by whose values others are divided
  std::vector<std::string> several;           ///< planners among which the pattern is ambiguous; the first is used
};

/// Only cells that are `ok` have values. A geometric mean leaves out values that are not above zero; `used` counts the
/// values that are left.
/// **Cost** O(cells · keys · log cells).
[[nodiscard]] CrossTable make_table(const TableChoice& choice, const Results& results, const SortedCells& sorted);

}  // namespace stagecraft
