#pragma once

#include "experiments/run/repeated_run.hpp"
#include "experiments/run/settings.hpp"
#include "experiments/run/simulation.hpp"
#include "sim/analytic/lower_bound.hpp"
#include "sim/engine/run_recorder.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"
#include "sim/schedule/convergence.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace stagecraft {

/// Runs a plan with either engine, an asynchronous one at the length that the user has chosen or until its period has
/// converged. A long run that comes into one state twice is not run to its end (`RepeatedRun`).
class PlanRunner {
 public:
  /// All must outlive it. **Throws** as `simulate_program`.
  PlanRunner(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program, Simulation& simulation,
             const Settings& settings);

  /// Of the run as it was evaluated first, if it holds for a run with these events.
  [[nodiscard]] std::optional<LowerBound> bound(EngineChoice engine) const;

  /// Also collects the traffic, and the record of the run if it is wanted of this engine.
  Report evaluate();

  /// Begins with the length at which the evaluation has converged. `operations`: of the evaluation.
  Report replay(std::uint64_t operations);

 private:
  /// An engine: runs a program for so many microbatches.
  using Engine = std::function<RunOutcome(const ScheduleProgram& program, const RunLength& length, RecordPart record)>;

  [[nodiscard]] RunOutcome evaluate_once(const ScheduleProgram& program, const RunLength& length, RecordPart record);
  [[nodiscard]] RunOutcome replay_once(const ScheduleProgram& program, const RunLength& length, RecordPart record,
                                       double operations_of_a_microbatch);
  [[nodiscard]] double least_operations(const RunLength& length) const;
  [[nodiscard]] std::size_t expected_spans(const RunLength& length, RecordPart record) const;
  void refuse_long_run(double operations) const;
  [[nodiscard]] RecordPart wanted_record(EngineChoice choice) const;
  [[nodiscard]] Report run(EngineChoice choice, const Engine& engine);
  [[nodiscard]] RunOutcome run_once(EngineChoice choice, const Engine& engine, const RunLength& length);
  [[nodiscard]] RunOutcome run_long(EngineChoice choice, const Engine& engine, const RunLength& length);
  [[nodiscard]] std::optional<WholeBecause> runs_whole() const;
  [[nodiscard]] std::optional<LowerBound> bound_of(const ScheduleProgram& program, const RunLength& length,
                                                   bool shares_links) const;
  [[nodiscard]] LowerOptions lower_options(const RunLength& length) const;

  const LayerGraph& graph_;
  const Platform& platform_;
  const ScheduleProgram& program_;
  ScheduleProgram run_;  ///< the program of the plan with as many microbatches as the run
  Simulation& simulation_;
  const SimulationChoices& choices_;
  bool extends_;
  RunLength length_;
  std::optional<BoundFold> bound_;         ///< of the first evaluation
  std::optional<EvaluatedRun> evaluated_;  ///< of a long run whose state comes again
};

}  // namespace stagecraft
