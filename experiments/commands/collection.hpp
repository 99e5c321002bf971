#pragma once

#include "experiments/commands/verb.hpp"
#include "experiments/study/results.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace stagecraft {

/// Indices of the cells that have no row yet, ascending.
[[nodiscard]] std::vector<std::size_t> missing_cells(const Results& results);

/// The numbers, which are in ascending order, as text with consecutive ones joined: `3, 5 to 9, 12`. After `most` such
/// groups only the count of the remaining numbers follows.
[[nodiscard]] std::string ranges_text(const std::vector<std::size_t>& numbers, std::size_t most = 10);

/// The state of a study: how many of its cells have rows, with which status, which cells have none, and which files
/// were written. The exit code reports rows that failed, but not cells without rows.
[[nodiscard]] Answer collection_answer(const Results& results, const std::vector<std::string>& files);

}  // namespace stagecraft
