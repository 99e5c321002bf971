#pragma once

#include "experiments/study/results.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// The files that `write_results` writes into a folder, with their paths.
[[nodiscard]] std::vector<std::string> result_files(const std::string& folder);

/// Writes `results.sqlite`, `results.csv` and `timings.csv` into a folder, each completely or not at all, and replaces
/// older ones (docs/reference/study-results.md). Results that differ only in timings give an equal `results.csv` and a
/// database with an equal dump. Creates the folder if it does not exist.
/// **Throws** InputError if a file cannot be written, and as `result_table`.
void write_results(const std::string& folder, const Results& results);

}  // namespace stagecraft
