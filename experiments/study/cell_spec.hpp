#pragma once

#include "experiments/run/planning.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/study/study.hpp"

#include <cstdint>
#include <string>

namespace stagecraft {

/// What a cell asks for, as values. The cell's keys are how a study file writes it, how the manifest keeps it and what
/// tables compare; whoever runs a cell reads them once.
struct CellSpec {
  std::string model;  ///< this and the next two: a file or a name, as the study writes it
  std::string platform;
  std::string events;    ///< empty: none
  Keys model_values;     ///< by path in the file: what takes the place of its own values
  Keys platform_values;  ///< likewise
  std::string planner;
  PlanningChoices planning;
  EngineChoice engine = EngineChoice::Replay;
  NetworkModel network = NetworkModel::Platform;
  std::uint64_t noise_seed = 0;
};

/// **Throws** InputError for keys that no study file would give, as those of a manifest that someone has changed.
[[nodiscard]] CellSpec read_cell(const Cell& cell);

}  // namespace stagecraft
