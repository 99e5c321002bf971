#pragma once

#include "experiments/run/inputs.hpp"
#include "experiments/run/planning.hpp"
#include "experiments/run/simulation.hpp"
#include "sim/base/error.hpp"
#include "sim/model/detail.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// What one planner made of a model, and what became of it.
struct ComparisonRow {
  const PlannerInfo* planner = nullptr;
  std::optional<Planning> planning;
  std::optional<Simulation> simulation;  ///< of a plan
  Figures evaluated;                     ///< likewise: of one iteration on the platform's links, without contention
  std::optional<InputError> refusal;     ///< why the planner did not take the request, if so

  [[nodiscard]] const Plan* plan() const;
  /// `ok`, `out_of_memory`, `infeasible` or `refused`.
  [[nodiscard]] std::string outcome() const;
};

struct Comparison {
  Inputs inputs;
  std::int64_t microbatch_size = 1;
  std::vector<ComparisonRow> rows;
};

/// One table for each model.
[[nodiscard]] std::string comparison_text(const std::vector<Comparison>& comparisons, bool timings);

/// `{"platform": …, "models": [{"model": …, "rows": […]}]}`, a row's `simulation` as `simulate --json` shows it.
[[nodiscard]] Detail::Record comparison_record(const std::vector<Comparison>& comparisons, bool timings);

}  // namespace stagecraft
