#pragma once

#include "experiments/run/basis.hpp"
#include "experiments/run/limits.hpp"
#include "experiments/run/plan_ladder.hpp"
#include "experiments/run/plan_load.hpp"
#include "experiments/run/repeated_run.hpp"
#include "experiments/run/replanning.hpp"
#include "experiments/run/run_cost.hpp"
#include "experiments/run/settings.hpp"
#include "experiments/run/traffic.hpp"
#include "experiments/run/work_rates.hpp"
#include "sim/analytic/lower_bound.hpp"
#include "sim/io/events_file.hpp"
#include "sim/model/events.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"
#include "sim/model/schedule.hpp"
#include "sim/model/timeline.hpp"
#include "sim/schedule/convergence.hpp"
#include "sim/schedule/network_model.hpp"
#include "sim/schedule/schedule_program.hpp"
#include "sim/schedule/updates.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

enum class EngineChoice { Replay, Evaluate };

/// A wish for the record of a run.
struct Recording {
  std::string option = {};                        ///< that needs it
  std::int64_t most = run_limits::kMostRecorded;  ///< operations that the run may have
  std::string hint = {};                          ///< what else than a shorter run would do
};

struct SimulationChoices {
  EngineChoice engine = EngineChoice::Replay;
  NetworkModel network = NetworkModel::Platform;
  std::int64_t iterations = 1;
  bool in_place = false;               ///< whether to replay in this process; a process can do so only once
  std::optional<Recording> recording;  ///< if the record of the run is to be kept
  std::optional<Schedule> literal;     ///< orders that replace those of the plan's schedule
  std::optional<Transfers> transfers;  ///< else a rule for the transfers of that schedule (`orders_under`)
  /// The exact length of an asynchronous run, in microbatches. Without it the run has at least the plan's length, and
  /// is extended until its period has converged, unless there are events or the plan may change.
  std::optional<std::int64_t> run_length;
  bool verifies_repetition = false;     ///< a long run is also simulated whole, if two short ones stand for it
  std::optional<ReplanChoices> replan;  ///< whether the plan may change while training runs
  Events events;                        ///< changes during the run, for either engine
  Events listed_events;     ///< as the file lists them, where one may change several links; to tell which never happen
  std::string events_hash;  ///< SHA-256 of the events file and of the files that it names; empty: none
  std::vector<Model> models;  ///< of the run, by `ModelChange::model`; none without events
  /// Mixed with the seed of every jitter event, so that one file serves many runs with different noise. Less than 2^63,
  /// because JSON shows it as a signed number.
  std::optional<std::uint64_t> noise_seed;

  /// Takes the events of a file for a run that begins with `model`. **Throws** InputError as `resolve_events` and
  /// `load_event_models`.
  void set_events(const EventsFile& file, const Model& model, const Platform& platform);
};

[[nodiscard]] const char* to_string(EngineChoice engine);
[[nodiscard]] const char* to_string(NetworkModel network);

/// How a run whose plan has changed would have ended if the plan had stayed.
struct KeptRun {
  std::optional<Seconds> end;  ///< none if the plan could not run to its end
  std::string problem;         ///< then why
};

/// The result of simulating a plan.
struct Simulation {
  SimulationChoices choices;
  Report report;
  Figures evaluated;                  ///< the same run without contention
  RunLength length;                   ///< of the run
  std::vector<StageUpdates> updates;  ///< by stage
  PlanLoad load;
  Basis basis;      ///< of the figures of `report`
  WorkRates rates;  ///< none where the model changes to one with other work
  RunCost cost;
  /// What no order of the plan's work can beat with this engine and network. None where it is not known, or where the
  /// figures are not those of the plan as it stands: with noise and faster devices or links, and for a period that is
  /// disturbed by events or has not converged.
  std::optional<LowerBound> bound;
  RunRecord record;  ///< of `choices.engine`; empty unless wanted
  Traffic traffic;
  std::vector<NextModel> models;         ///< of the run, after the first one
  std::vector<std::size_t> idle_events;  ///< see `experiments/run/idle_events.hpp`
  std::optional<LongRun> long_run;       ///< how `choices.engine` has simulated a long run; else none
  Seconds wall_time;
  std::optional<KeptRun> kept = std::nullopt;       ///< see `run_kept`; only where it is asked for
  std::optional<PlanLadder> ladder = std::nullopt;  ///< see `simulated_ladder`; only where it is asked for

  /// (predicted − simulated) / simulated of the iteration time or the period; none if the plan predicts none.
  [[nodiscard]] std::optional<double> prediction_error(const Figures& predicted) const;
  /// The iteration time or the period over the bound.
  [[nodiscard]] std::optional<double> over_bound() const;
  /// Microbatches in all iterations.
  [[nodiscard]] std::int64_t microbatches() const {
    return length.microbatches * (report.period ? 1 : choices.iterations);
  }
  /// The positions in the file, from 0, of the events that would happen only after the end of the run.
  [[nodiscard]] std::vector<std::size_t> missed_events() const;
};

/// How far below the simulated time of an iteration any plan can be; none also for a run without `bound`, and for one
/// that does not fit in memory.
[[nodiscard]] std::optional<PlanLadder> simulated_ladder(const LayerGraph& graph, const Platform& platform,
                                                         const ScheduleProgram& program, const Simulation& simulation);

/// The run with the same microbatches and events and without re-planning; none if the plan did not change. A plan may
/// not run to its end, for example on a device that fails for good.
/// **Cost** another simulation.
[[nodiscard]] std::optional<KeptRun> run_kept(const LayerGraph& graph, const Platform& platform,
                                              const ScheduleProgram& program, const Simulation& changed);

/// The iteration time of a synchronous schedule, the period of an asynchronous one.
[[nodiscard]] std::optional<Seconds> headline(const Figures& figures);

/// The device that is fullest for its capacity. **Requires** a device.
[[nodiscard]] const DeviceReport& fullest(const Report& report);

/// **Requires** a plan without findings (`judge_plan`). **Throws** InputError for a run of too many operations, if its
/// record is wanted before it is replayed, and for a schedule that cannot run with the rule for transfers.
[[nodiscard]] Simulation simulate_program(const LayerGraph& graph, const Platform& platform,
                                          const ScheduleProgram& program, const SimulationChoices& choices,
                                          const Settings& settings);

}  // namespace stagecraft
