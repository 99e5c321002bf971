#pragma once

#include "experiments/run/batch_curve.hpp"
#include "experiments/run/inputs.hpp"
#include "planners/planner.hpp"
#include "sim/base/error.hpp"
#include "sim/model/detail.hpp"

#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// What one planner does about the microbatch size.
struct SizeRow {
  const PlannerInfo* planner = nullptr;
  MemoryPolicy memory = MemoryPolicy::Cheapest;
  std::optional<BatchCurve> curve;    ///< only the largest point, if no curve was asked for
  std::optional<InputError> refusal;  ///< in place of it: why every size is refused
};

/// The rows of `max-batch --planners` or `--curve`, as far as they are done.
struct SizeComparison {
  const Inputs* inputs = nullptr;
  std::vector<SizeRow> rows;
  bool has_curves = false;
  bool is_replayed = false;  ///< whether the figures are those of replays, not evaluated
};

/// A table of the largest sizes, why rows have none, and for each row its curve with the fastest size.
[[nodiscard]] std::string size_rows_text(const SizeComparison& comparison);

/// The same as `max-batch --json` shows it (docs/reference/command-line.md).
[[nodiscard]] Detail::Record size_rows_record(const SizeComparison& comparison);

}  // namespace stagecraft
