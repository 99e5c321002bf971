#pragma once

#include "sim/schedule/lower.hpp"
#include "sim/schedule/lowering/plan_run.hpp"

#include <memory>
#include <optional>

namespace stagecraft {

/// A run: one plan after the other, window by window. Between two windows the replanner may have another plan follow.
class Run {
 public:
  /// `graph` and `platform` must outlive it.
  Run(const LayerGraph& graph, const Platform& platform, const Plan& plan, const ScheduleProgram& program,
      LowerOptions options);

  /// The next window, or none at the end.
  [[nodiscard]] std::optional<OpGraph> next(const Observation& observation);
  [[nodiscard]] const Measurement& measurement() const { return measurement_; }
  [[nodiscard]] bool is_one_pass() const;

 private:
  void ask(const Observation& observation);
  void follow();
  [[nodiscard]] std::size_t window_size() const;
  [[nodiscard]] OpId oldest() const;

  const LayerGraph& graph_;
  const Platform& platform_;
  LowerOptions options_;
  std::int64_t microbatches_;  ///< of the run, all iterations included
  bool synchronous_;
  MeasuredPart measured_;
  Measurement measurement_;
  MeasuredMarks marks_;
  WindowWriter writer_;
  std::unique_ptr<PlanRun> current_;
  std::optional<PlanSwitch> following_;  ///< what comes when the current plan is lowered
  bool started_ = false;
  bool finished_ = false;
};

}  // namespace stagecraft
