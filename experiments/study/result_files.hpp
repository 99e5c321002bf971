#pragma once

#include "experiments/study/results.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// The files that `write_results` writes into a folder, with their paths.
[[nodiscard]] std::vector<std::string> result_files(const std::string& folder);

/// Writes `results.sqlite`, `results.csv` and `timings.csv` into a folder, each whole or not at all, replacing older
/// ones (docs/reference/study-results.md). Equal results but for their timings give equal CSV files and databases with
/// equal dumps. The folder is made if it is not there.
/// **Throws** InputError for what cannot be written, and as `result_table`.
void write_results(const std::string& folder, const Results& results);

}  // namespace stagecraft
