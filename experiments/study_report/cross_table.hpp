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

/// A cell of the table, with the study's cells that belong to it.
struct TableCell {
  CellCounts counts;           ///< of all these cells
  std::size_t used = 0;        ///< cells that have a value (and a value to divide it by, if the table divides)
  std::optional<double> mean;  ///< over the cells used; none if there are none
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
