#pragma once

#include "experiments/study/manifest.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// Who is compared: a planner with its label, its options and, where each planner has one schedule of its own, that.
struct Contender {
  std::string name;  ///< the label, else the planner; where several share it, with what tells them apart
  std::string planner;
  std::string label;  ///< empty if there is none
  Keys choices;       ///< `options.PLANNER.KEY` and, where it belongs to the planner, `schedule`
};

/// The cells of a study sorted by who plans and by what they plan for.
struct SortedCells {
  std::vector<Contender> contenders;
  std::vector<std::size_t> contender_of;  ///< by cell
  Keys constant;                          ///< keys of all cells that do not say who plans and never differ
  std::vector<Keys> groups;               ///< the other such keys; null where a cell has none
  std::vector<std::size_t> group_of;      ///< by cell
  bool has_own_schedules = false;         ///< whether `schedule` says who plans
};

/// The schedule says who plans where it differs and each planner with its options has only one.
[[nodiscard]] SortedCells sort_cells(const std::vector<StudyCell>& cells);

/// Whether a key says who plans.
[[nodiscard]] bool says_who(const SortedCells& sorted, std::string_view key);

}  // namespace stagecraft
