#pragma once

#include "sim/model/detail.hpp"

#include <optional>
#include <vector>

namespace stagecraft {

/// How far predictions are from what was measured. Errors are ratios: predicted / measured − 1.
struct StepErrors {
  double signed_median = 0;
  double median = 0;  ///< without sign, as the next two
  double mean = 0;
  double worst = 0;
  std::optional<double> rank;  ///< Spearman's correlation of both; none where it has none (`rank_correlation`)
};

/// **Requires** lists of one length, at least one, of positive numbers.
[[nodiscard]] StepErrors step_errors(const std::vector<double>& predicted, const std::vector<double>& measured);

/// For results as JSON.
[[nodiscard]] Detail::Record to_record(const StepErrors& errors);

}  // namespace stagecraft
