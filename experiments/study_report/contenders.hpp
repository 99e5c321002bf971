#pragma once

#include "experiments/study/manifest.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// A contender is what a study compares: a planner with its label, its options and, if each planner has one of its own,
/// its schedule, its number and size of microbatches, its samples per update and the length of its run.
struct Contender {
  std::string name;  ///< the label, or else the planner; if several have the same, with the properties that differ
  std::string planner;
  std::string label;  ///< empty if there is none
  Keys choices;       ///< `PLANNER.KEY` and the other keys that belong to the planner
};

/// The cells of a study sorted by contender and by group. Cells of a group differ only in contender and seed.
struct SortedCells {
  std::vector<Contender> contenders;
  std::vector<std::size_t> contender_of;  ///< by cell
  Keys constant;                          ///< keys that do not belong to contenders and are the same in all cells
  std::vector<Keys> groups;               ///< the other keys that do not belong to contenders; null if a cell has none
  std::vector<std::size_t> group_of;      ///< by cell
  std::vector<std::string> own_keys;      ///< of `schedule`, `microbatches` and so on: those of the contenders
};

/// Sorts the cells. A key such as `schedule` belongs to the contenders if it differs between cells and each planner
/// with its label and options has only one value of it. In a study with one planner, its schedules are the contenders.
[[nodiscard]] SortedCells sort_cells(const std::vector<StudyCell>& cells);

/// Whether a key belongs to the contender.
[[nodiscard]] bool says_who(const SortedCells& sorted, std::string_view key);

}  // namespace stagecraft
