#pragma once

#include "experiments/commands/verb.hpp"
#include "experiments/study/results.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace stagecraft {

/// Indices of the cells that have no row yet, ascending.
[[nodiscard]] std::vector<std::size_t> missing_cells(const Results& results);

/// Numbers in ascending order in words, neighbours together: `3, 5 to 9, 12`. Beyond `most` such groups only the count
/// of what is left.
[[nodiscard]] std::string ranges_text(const std::vector<std::size_t>& numbers, std::size_t most = 10);

/// How much of a study is there: how many of its cells have rows, with which status, which have none; and the files
/// that were written. The exit code tells of rows that failed, not of cells without rows.
[[nodiscard]] Answer collection_answer(const Results& results, const std::vector<std::string>& files);

}  // namespace stagecraft
