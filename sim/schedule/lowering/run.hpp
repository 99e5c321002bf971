#pragma once

#include "sim/schedule/lower.hpp"
#include "sim/schedule/lowering/plan_run.hpp"
#include "sim/schedule/lowering/questions.hpp"
#include "sim/schedule/lowering/resumption.hpp"
#include "sim/schedule/lowering/trained_models.hpp"

#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace stagecraft {

/// A run: one plan after the other, window by window. Between two windows the re-planner may choose a plan to follow
/// the current one, and where another model begins a plan for it follows. The current plan goes over to it
/// (`LiveSwitch`), or it drains, `hand_over` moves its state, and the next plan is lowered. After a failure everything
/// is given up, and the next plan goes on where the state that is left allows it (`Resumption`).
class Run {
 public:
  /// `graph` and `platform` must outlive it.
  Run(const LayerGraph& graph, const Platform& platform, ScheduleProgram program, LowerOptions options);

  /// The next window, or none at the end.
  [[nodiscard]] std::optional<OpGraph> next(const Observation& observation);
  [[nodiscard]] const Measurement& measurement() const { return measurement_; }
  [[nodiscard]] bool is_one_pass() const;

 private:
  /// What comes when the current plan is lowered: the end of the run or the next model.
  struct Running {};
  /// Another plan, for which the current one drains.
  struct Draining {
    PlanSwitch next;
  };
  /// Everything has been given up, and another plan goes on from there.
  struct Leaving {
    Resumption from;
    PlanSwitch next;
  };
  /// The plan that drained for the current one.
  struct Before {
    std::unique_ptr<PlanRun> run;
    std::int64_t settled = 0;  ///< `Reached::settled` of it
  };
  /// All operations have been handed out.
  struct Over {
    std::optional<Seconds> promised;  ///< when it will be asked again
  };

  [[nodiscard]] std::optional<OpGraph> last_window(Over& over);
  [[nodiscard]] bool waits_for_device() const;
  void ask();
  [[nodiscard]] bool goes_live() const;
  [[nodiscard]] bool go_live(PlanSwitch& next);
  void follow(PlanSwitch next, const std::optional<Resumption>& from = std::nullopt);
  void hand_over_to(PlanRun& after, std::int64_t first_microbatch, const std::optional<Resumption>& from);
  [[nodiscard]] Seconds restart_time() const;
  void change_model();
  void end_with_model();
  template <class State>
  [[nodiscard]] bool is() const {
    return std::holds_alternative<State>(state_);
  }
  [[nodiscard]] bool is_any_down() const { return questions_.may_come() && !questions_.seen().down.empty(); }
  [[nodiscard]] bool leaves();
  [[nodiscard]] bool has_not_begun(const std::vector<DeviceId>& lost) const;
  [[nodiscard]] OpGraph give_up();
  [[nodiscard]] std::vector<DeviceId> used() const;
  [[nodiscard]] std::int64_t done() const;
  [[nodiscard]] bool may_change() const { return questions_.may_come() || models_.may_change(); }
  [[nodiscard]] std::size_t window_size() const;
  /// The least operation that the next window or a later one may depend on.
  [[nodiscard]] OpId oldest() const;

  TrainedModels models_;
  const Platform& platform_;
  LowerOptions options_;
  std::int64_t microbatches_;  ///< in the whole run, all iterations included
  bool synchronous_;
  Measurement measurement_;
  MeasuredMarks marks_;
  WindowWriter writer_;
  std::unique_ptr<PlanRun> current_;
  Questions questions_;
  std::variant<Running, Draining, Leaving, Over> state_;
  std::vector<DeviceId> draining_;  ///< of the plan before
  std::optional<Before> before_;    ///< none once a microbatch of the current plan has entered, or with another model
  std::int64_t settled_ = 0;        ///< `Reached::settled`
  std::int64_t model_end_ = 0;      ///< the microbatch with which the next model begins, or the end of the run
  bool started_ = false;
};

}  // namespace stagecraft
