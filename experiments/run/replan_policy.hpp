#pragma once

#include "sim/model/observation.hpp"
#include "sim/model/plan.hpp"

#include <cstdint>
#include <optional>

namespace stagecraft {

/// When a running training asks for another plan, and when it takes it.
struct ReplanPolicy {
  /// After a window the planner is asked only if the slowest stage takes more than 1 + this times the mean of the
  /// stages...
  double imbalance = 0.0;
  std::int64_t patience = 1;    ///< ... for so many windows in a row.
  double gain = 0.02;           ///< another plan is taken only if it saves more than this share of the time
  std::int64_t horizon = 2560;  ///< microbatches in which it has to save more than the switch costs
  Seconds latency = {};         ///< from a question until the answer has reached all stages
};

/// How much longer the slowest stage of the plan was busy with a microbatch than the stages on average, as a part of
/// the latter; a stage with replicas is busy for its share. Stages without a finished pass are left out; none if no
/// stage has one. `seen` has the stages of all plans of the run so far, those of `plan` last.
[[nodiscard]] std::optional<double> observed_imbalance(const Observation& seen, const Plan& plan);

}  // namespace stagecraft
