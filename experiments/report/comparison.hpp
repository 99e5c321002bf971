#pragma once

#include "experiments/inputs.hpp"
#include "experiments/planning.hpp"
#include "experiments/simulation.hpp"
#include "sim/model/detail.hpp"

#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// What one planner made of a model, and what became of it.
struct ComparisonRow {
  Planning planning;
  std::optional<Simulation> simulation;  ///< of a plan

  /// Whether there was a plan and it fitted in memory.
  [[nodiscard]] bool has_run() const { return simulation && !simulation->report.out_of_memory(); }
};

struct Comparison {
  Inputs inputs;
  std::vector<ComparisonRow> rows;
};

/// One table for each model.
[[nodiscard]] std::string comparison_text(const std::vector<Comparison>& comparisons, bool timings);

/// `{"platform": …, "models": [{"model": …, "rows": […]}]}`, a row's `simulation` as `simulate --json` shows it.
[[nodiscard]] Detail::Record comparison_record(const std::vector<Comparison>& comparisons, bool timings);

}  // namespace stagecraft
