#pragma once

#include "experiments/run/inputs.hpp"
#include "experiments/study/cell_spec.hpp"
#include "experiments/study/manifest.hpp"
#include "experiments/study/row.hpp"

#include <string>

namespace stagecraft {

/// Plans, evaluates and replays one cell in this process. A process can replay only once. An error in the cell's input
/// becomes an `invalid` row.
[[nodiscard]] Row run_cell(const Manifest& manifest, const std::string& key, const CellSpec& cell,
                           const Inputs& inputs);

/// A row without figures.
[[nodiscard]] Row failed_row(const std::string& key, CellStatus status, std::string message);

}  // namespace stagecraft
