#pragma once

#include "experiments/run/inputs.hpp"
#include "experiments/run/planning.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/study/cell_spec.hpp"
#include "experiments/study/manifest.hpp"
#include "experiments/study/row.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace stagecraft {

/// What a cell is run for: for its row in this process, which can replay only once, or for the record of its run.
enum class CellUse : std::uint8_t { RowOnly, Recorded };

/// The run of a cell: its plan and, if there is one, its simulation.
struct CellRun {
  std::shared_ptr<const PlannerInfo> planner;
  Platform platform;  ///< as varied
  Planning planning;
  std::string remark;  ///< if the answer is less than was asked for
  std::optional<Simulation> simulation;
};

/// **Throws** InputError for a cell that cannot run, and what planners throw.
[[nodiscard]] CellRun simulate_cell(const Manifest& manifest, const CellSpec& cell, const Inputs& given, CellUse use);

/// Plans, evaluates and replays one cell in this process. A process can replay only once. An error in the cell's input
/// becomes an `invalid` row.
[[nodiscard]] Row run_cell(const Manifest& manifest, const std::string& key, const CellSpec& cell,
                           const Inputs& inputs);

/// A row without figures.
[[nodiscard]] Row failed_row(const std::string& key, CellStatus status, std::string message);

}  // namespace stagecraft
