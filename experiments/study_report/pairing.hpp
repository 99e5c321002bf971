#pragma once

#include "experiments/study_report/contenders.hpp"

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

namespace stagecraft {

/// The partner of each cell, that is, the cell with which it is compared.
struct Pairing {
  std::vector<std::optional<std::size_t>> of;  ///< by cell: its partner
  std::set<std::size_t> contenders;            ///< contenders of which several could be the partner of the same cell
  bool fits_any = false;                       ///< whether the pattern fits a cell
};

/// A cell's partner fits the pattern, and has the same seed and the same values of all keys that are not in the
/// pattern. If `any_planner`, the contenders may differ, too. If several contenders fit, the partner is that of the
/// first of them.
/// **Cost** O(cells · keys · log cells).
[[nodiscard]] Pairing pair_cells(const std::vector<StudyCell>& cells, const SortedCells& sorted, const Keys& pattern,
                                 bool any_planner);

}  // namespace stagecraft
