#pragma once

#include "experiments/run/planning_choices.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/variation.hpp"
#include "experiments/study/study.hpp"

#include <cstdint>
#include <string>

namespace stagecraft {

/// A cell's run, as typed values. Study files, manifests and tables use the cell's keys instead; they are converted
/// once, when the cell is run.
struct CellSpec {
  std::string model;  ///< like platform and events a path or a name, as written in the study
  std::string platform;
  std::string events;           ///< empty: none
  std::string replan = "none";  ///< as the option of `simulate`
  Keys model_values;            ///< values that replace those of the file, by their path in it
  Keys platform_values;         ///< likewise
  Variation variation;          ///< of the model and the platform, for planner and run alike
  double profile_noise = 0.0;   ///< sigma of the errors in the times that the planner gets; the run has the true ones
  std::string planner;
  PlanningChoices planning;
  bool at_largest_size = false;  ///< plans for the largest microbatches that fit (`find_largest_size`)
  EngineChoice engine = EngineChoice::Replay;
  NetworkModel network = NetworkModel::Platform;
  std::uint64_t noise_seed =
      0;  ///< of a cell with events, profile noise or an external planner: others have no use for it
};

/// **Throws** InputError for keys that no study file can give, for example from a manifest that was edited.
[[nodiscard]] CellSpec read_cell(const Cell& cell);

}  // namespace stagecraft
