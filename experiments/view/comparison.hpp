#pragma once

#include "experiments/run/inputs.hpp"
#include "experiments/run/planning.hpp"
#include "experiments/run/sensitivity.hpp"
#include "experiments/run/simulation.hpp"
#include "sim/base/error.hpp"
#include "sim/model/detail.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// The result of one planner for one model: its plan and the simulation of the plan.
struct ComparisonRow {
  const PlannerInfo* planner = nullptr;
  std::optional<Planning> planning;
  std::optional<Simulation> simulation;  ///< if there is a plan
  Figures evaluated;                     ///< of one iteration of the plan on the platform's links, without contention
  std::optional<InputError> refusal;     ///< why the planner refused the request, if it did

  [[nodiscard]] const Plan* plan() const;
  /// `ok`, `out_of_memory`, `infeasible` or `refused`.
  [[nodiscard]] std::string outcome() const;
};

struct Comparison {
  Inputs inputs;
  std::vector<ComparisonRow> rows;
  bool is_varied = false;                  ///< whether its sensitivity was asked for
  std::optional<Sensitivity> sensitivity;  ///< of the winner among the rows; none if there are no two to compare
};

/// One table for each model, and if it was asked for, then one for each with its sensitivity.
[[nodiscard]] std::string comparison_text(const std::vector<Comparison>& comparisons, bool timings);

/// `{"platform": …, "models": [{"model": …, "rows": […]}]}`. The `simulation` of a row is as in `simulate --json`. A
/// model whose sensitivity was asked for also has `sensitivity`.
[[nodiscard]] Detail::Record comparison_record(const std::vector<Comparison>& comparisons, bool timings);

}  // namespace stagecraft
