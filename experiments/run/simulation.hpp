#pragma once

#include "experiments/run/settings.hpp"
#include "experiments/run/traffic.hpp"
#include "sim/model/events.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"
#include "sim/model/timeline.hpp"
#include "sim/schedule/lower.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace stagecraft {

struct Plan;

enum class EngineChoice { Replay, Evaluate };

struct SimulationChoices {
  EngineChoice engine = EngineChoice::Replay;
  NetworkModel network = NetworkModel::Platform;
  std::int64_t iterations = 1;
  bool in_place = false;            ///< whether to replay in this process, which can do so once in its life
  bool timeline = false;            ///< whether the whole timeline is wanted too
  bool traffic = false;             ///< whether what moves between places is wanted too
  std::optional<Schedule> literal;  ///< the orders of a plan whose schedule is `literal`
  Events events;                    ///< what changes during the run, in either engine
  std::string events_hash;          ///< SHA-256 of the file they came from; empty: none
  /// Mixed with the seed of every jitter among the events, so that one file serves many runs of different noise. Below
  /// 2^63, to be shown in JSON.
  std::optional<std::uint64_t> noise_seed;
};

[[nodiscard]] const char* to_string(EngineChoice engine);
[[nodiscard]] const char* to_string(NetworkModel network);

/// A plan carried out.
struct Simulation {
  SimulationChoices choices;
  Report report;
  Figures evaluated;  ///< the same run without contention
  /// What the busiest stage or channel of an iteration has to do (`pipeline_load`); none for an asynchronous schedule,
  /// for several pipelines, and where some replicas have no way to each other.
  std::optional<Seconds> load;
  Timeline timeline;
  Traffic traffic;  ///< if it was wanted
  Seconds wall_time;

  /// (predicted − simulated) / simulated, of the iteration time or the period; none without a claim.
  [[nodiscard]] std::optional<double> prediction_error(const Figures& predicted) const;
};

/// The iteration time of a synchronous schedule, the period of an asynchronous one.
[[nodiscard]] std::optional<Seconds> headline(const Figures& figures);

/// **Requires** a plan without findings (`judge_plan`). **Throws** InputError for a run of too many operations.
[[nodiscard]] Simulation simulate_plan(const LayerGraph& graph, const Platform& platform, const Plan& plan,
                                       const SimulationChoices& choices, const Settings& settings);

}  // namespace stagecraft
