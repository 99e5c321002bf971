#pragma once

#include "experiments/study/results.hpp"
#include "sim/model/detail.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft {

/// Operations of all runs that a page shows side by side.
inline constexpr std::size_t kMostOfCells = 2'000'000;

/// The runs of some cells, which are planned and simulated again, for the page of a study: what the cell is, and the
/// columns of its run (`run_columns`).
/// **Throws** InputError for a position without a cell, a cell without a plan, files that have changed since the study
/// ran, and runs of too many operations.
[[nodiscard]] Detail::List cell_timelines(const Results& results, const std::vector<std::size_t>& cells);

}  // namespace stagecraft
