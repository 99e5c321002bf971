#pragma once

#include "experiments/commands/group_options.hpp"
#include "experiments/run/external_planner.hpp"
#include "experiments/run/inputs.hpp"
#include "experiments/run/planning.hpp"
#include "experiments/run/set_option.hpp"
#include "experiments/run/settings.hpp"
#include "experiments/run/simulation.hpp"

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stagecraft {

/// Options that several verbs take, as the user typed them. Each group has a function that adds them to a verb and one
/// that reads them. The latter throws InputError for a value that makes no sense.

struct PlatformOptions {
  std::string platform;
  std::vector<std::string> speeds;
};
void add_platform_options(CLI::App& command, PlatformOptions& options);
/// `when` begins the help, such as `for a plan: `.
void add_speed_option(CLI::App& command, std::vector<std::string>& speeds, const std::string& when = {});

/// How the figures of a model that is computed are to be computed.
struct ComputedOptions {
  std::optional<std::string> precision;
  std::optional<std::string> sequence;
  std::optional<std::string> granularity;
  bool selective_recompute = false;
};
void add_computed_options(CLI::App& command, ComputedOptions& options);
[[nodiscard]] ModelChoice read_computed_options(const ComputedOptions& options);

struct InputOptions {
  std::string model;
  PlatformOptions platform;
  std::vector<std::string> set = {};
  ComputedOptions computed = {};
  std::optional<ModelChoice> of_plan = {};  ///< in place of `computed`
};
void add_input_options(CLI::App& command, InputOptions& options);
/// Loads the files, with the values that `--set` replaces, and shows the user the remarks on them.
[[nodiscard]] Inputs load_inputs(const InputOptions& options, const Settings& settings);
/// The same for a verb whose `--set` has options of planners too (`read_set_option`).
[[nodiscard]] Inputs load_inputs(const InputOptions& options, const Overrides& overrides, const Settings& settings);
void tell_remarks(const std::vector<std::string>& remarks, const Settings& settings);

/// What a verb's `--set` may name: values of files, besides them options of planners, or all keys of a study.
enum class SetUse { Files, Planners, Study };
void add_set_option(CLI::App& command, std::vector<std::string>& set, SetUse use);

/// How many samples an update has, and how long an asynchronous run is.
struct LengthOptions {
  std::optional<std::string> samples_per_update;
  std::optional<std::string> run_length;
};
void add_length_options(CLI::App& command, LengthOptions& options);
[[nodiscard]] std::optional<std::int64_t> read_samples_per_update(const LengthOptions& options);
[[nodiscard]] std::optional<std::int64_t> read_run_length(const LengthOptions& options);

/// **Throws** InputError if the length of an asynchronous run is given for a synchronous one.
void refuse_run_length(const std::optional<std::int64_t>& length, bool synchronous);

struct PlanningOptions {
  std::optional<std::string> schedule;
  std::optional<std::string> microbatches;
  std::optional<std::string> global_batch;
  LengthOptions length;
  std::optional<std::string> microbatch_size;
  GroupOptions groups;  ///< whose `auto` is offered together with that of `microbatch_size`
  std::optional<std::string> zero;
  std::optional<std::string> memory;
  std::optional<std::string> training;
  std::optional<std::string> planner_time_limit;
};
/// Whether the user chooses the microbatch size, or the verb looks for one.
enum class MicrobatchSize { Chosen, Sought };
void add_planning_options(CLI::App& command, PlanningOptions& options, MicrobatchSize size = MicrobatchSize::Chosen);
/// Reads everything but the planner's own options (`--set`).
[[nodiscard]] PlanningChoices read_planning_choices(const PlanningOptions& options);
/// The planners of `--planners A,B,...`, each once.
[[nodiscard]] UsedPlanners read_planners_option(const std::string& text, const ExternalCalls& calls);
[[nodiscard]] ExternalCalls read_external_options(const PlanningOptions& options);

struct SimulationOptions {
  std::string engine = "replay";
  std::string network = "platform";
  std::string iterations = "1";
  bool verify_steady = false;  ///< an option of `simulate` alone
  std::string replan = "none";
  std::optional<std::string> events;
  std::optional<std::string> noise_seed;
};
void add_simulation_options(CLI::App& command, SimulationOptions& options);
[[nodiscard]] SimulationChoices read_simulation_choices(const SimulationOptions& options,
                                                        const ExternalCalls& calls = {});
/// Reads the events, if there are any, for the platform.
void take_events(const SimulationOptions& options, const Inputs& inputs, SimulationChoices& choices,
                 const Settings& settings);

}  // namespace stagecraft
