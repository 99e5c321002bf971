#pragma once

#include "experiments/inputs.hpp"
#include "experiments/study/manifest.hpp"
#include "experiments/study/row.hpp"

namespace stagecraft {

/// Plans, evaluates and replays one cell in this process, which can do so once in its life. What the cell's user would
/// be told as an error becomes an `invalid` row.
[[nodiscard]] Row run_cell(const Manifest& manifest, const StudyCell& cell, const Inputs& inputs);

/// A row without figures.
[[nodiscard]] Row failed_row(const StudyCell& cell, CellStatus status, std::string message);

}  // namespace stagecraft
