#pragma once

#include "experiments/study_report/contenders.hpp"

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

namespace stagecraft {

/// The cell that each cell is compared with.
struct Pairing {
  std::vector<std::optional<std::size_t>> of;  ///< by cell
  std::set<std::size_t> contenders;            ///< that the pattern fits in one place with another
  bool fits_any = false;                       ///< whether the pattern fits a cell
};

/// A cell's partner has the same seed, fits the pattern, and its keys are otherwise the same; those that say who plans
/// apart if `any_planner`. Where the pattern fits several planners, the first of them.
/// **Cost** O(cells · keys · log cells).
[[nodiscard]] Pairing pair_cells(const std::vector<StudyCell>& cells, const SortedCells& sorted, const Keys& pattern,
                                 bool any_planner);

}  // namespace stagecraft
