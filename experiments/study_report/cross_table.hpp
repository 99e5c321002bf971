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

/// A table that the study asks for. Rows and columns in the order in which cells come.
struct CrossTable {
  TableChoice choice;
  std::vector<Keys> rows;                     ///< the keys of each, with its values; null where cells have none
  std::vector<Keys> columns;                  ///< likewise
  std::vector<std::vector<TableCell>> cells;  ///< by row and column
  std::vector<TableCell> all;                 ///< by column: over all rows
  std::optional<Keys> over;                   ///< the pattern of the cells that values are divided by
  std::vector<std::string> several;           ///< planners that the pattern fits where one was meant; the first counts
};

/// Figures are those of cells that are `ok`. A geometric mean leaves out what is not above zero, and `used` tells.
/// **Cost** O(cells · keys · log cells).
[[nodiscard]] CrossTable make_table(const TableChoice& choice, const Results& results, const SortedCells& sorted);

}  // namespace stagecraft
