#pragma once

#include "experiments/commands/plan_inputs.hpp"
#include "experiments/commands/shared_options.hpp"
#include "experiments/run/inputs.hpp"
#include "experiments/run/order_file.hpp"
#include "experiments/run/plan_input.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/view/trace_content.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/given_orders.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

void add_order_options(CLI::App& command, OrderOptions& options);
/// `otherwise`: what holds without the option.
void add_sends_option(CLI::App& command, OrderOptions& options, const std::string& otherwise);

/// What the verbs that simulate a plan have in common: which plan, on what, and how.
struct SimulatedRunOptions {
  PlanInputOptions inputs;
  SimulationOptions simulation;
  LengthOptions length;
  OrderOptions orders;
  std::string plan;
};
void add_simulated_run_options(CLI::App& command, SimulatedRunOptions& options);

/// The paths of all files from which the run is made.
[[nodiscard]] std::vector<std::string> files_read(const SimulatedRunOptions& options, const PlanFiles& files);

/// A plan that is compiled, with all that it is to be simulated with.
struct PreparedRun {
  Inputs inputs;
  PlanInput input;
  ScheduleProgram program;
  SimulationChoices choices;
  std::optional<GivenOrders> orders;  ///< those that the user gives, which fit the plan
};

/// Compiles the plan of the files, which are those of the options. Remarks go to the user. **Throws** InputError for
/// options and files that make no sense, and for a plan that breaks a rule.
[[nodiscard]] PreparedRun prepare_plan(const SimulatedRunOptions& options, const PlanFiles& files,
                                       const Settings& settings);

/// A plan that has been simulated.
struct SimulatedRun : PreparedRun {
  Simulation simulation;
};

/// Prepares the plan and simulates it. The record of the run is kept only if it is wanted. **Throws** as
/// `prepare_plan`, and for a run of more operations than its record may have.
[[nodiscard]] SimulatedRun simulate_plan(const SimulatedRunOptions& options, const PlanFiles& files,
                                         const std::optional<Recording>& recording, const Settings& settings);

/// What a command wants that writes operations of a run, of one or of a part.
[[nodiscard]] Recording recording_for(const std::string& option, bool part);

/// The record of a run that has kept it. The run must outlive it.
[[nodiscard]] TracedRun traced(const SimulatedRun& run);

/// What a trace says of the run that it shows: the program, the platform, the schedule and the engine.
[[nodiscard]] Detail::Record about(const SimulatedRun& run);

/// The value of `--timeline-window`: `FROM..TO`, two times with their units. None if the option is not given.
[[nodiscard]] std::optional<TimeRange> read_window(const std::optional<std::string>& text);

}  // namespace stagecraft
