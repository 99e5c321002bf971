#pragma once

#include "experiments/study/results.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// A sentence for each `details.NAME` of the study's columns and tables that none of the planners' details has. Nothing
/// is said while no row has details.
[[nodiscard]] std::vector<std::string> column_warnings(const Results& results);

}  // namespace stagecraft
