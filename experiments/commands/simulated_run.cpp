#include "experiments/commands/simulated_run.hpp"

#include "experiments/commands/add_option.hpp"
#include "experiments/run/judge.hpp"
#include "experiments/run/update_size.hpp"
#include "experiments/view/simulation_text.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

/// The program of the plan, with the samples of an update that the user has chosen.
ScheduleProgram compiled(const SimulatedRunOptions& options, const PlanInput& input, const Platform& platform) {
  Judgement judged = judge_plan(input.graph, platform, input.reading);
  refuse_findings(options.plan, "the plan breaks a rule", judged.findings, "stagecraft check lists every violation");
  const auto samples = read_samples_per_update(options.length);
  if (!samples) return *std::move(judged.program);
  return with_samples_per_update(input.graph, platform, *std::move(judged.program), *samples);
}

/// The orders that the user gives, which do the plan's work.
std::optional<GivenOrders> fitting_orders(const SimulatedRunOptions& options, const PreparedRun& run) {
  std::vector<Finding> findings;
  std::optional<GivenOrders> orders =
      given_orders(options.orders, run.input.graph, run.inputs.platform, run.program, findings);
  const bool is_file = options.orders.schedule_file.has_value();
  refuse_findings(options.orders.schedule_file.value_or(options.plan),
                  is_file ? "the orders do not fit the plan" : "the schedule cannot run", findings,
                  "stagecraft check with the same " + std::string(is_file ? "--schedule-file" : "--sends") +
                      " lists every violation");
  return orders;
}

/// Fills a run that stays where it is: its program refers to its inputs.
void prepare(const SimulatedRunOptions& options, const PlanFiles& files, const Settings& settings, PreparedRun& run) {
  run.choices = read_simulation_choices(options.simulation);
  refuse_changed_orders(options.orders, run.choices.replan.has_value());
  run.inputs = load_inputs(files.inputs, settings);
  take_events(options.simulation, run.inputs, run.choices, settings);
  run.input = parse_plan_input(files.plan, run.inputs, settings.say);
  Plan& given = run.input.reading.plan;
  if (options.orders.schedule_file) expect_literal_orders(given);
  run.choices.run_length = read_run_length(options.length);
  if (run.choices.run_length && !require_family(given.schedule.name).synchronous) {
    given.microbatches = std::max(given.microbatches, *run.choices.run_length);
  }
  run.program = compiled(options, run.input, run.inputs.platform);
  run.orders = fitting_orders(options, run);
  if (run.choices.iterations > 1 && !run.program.synchronous) {
    throw InputError("applies to synchronous schedules only", {"", 0, 0, "--iterations"},
                     "--run-length gives the length of an asynchronous run");
  }
  refuse_run_length(run.choices.run_length, run.program.synchronous);
  const std::string remark = prediction_remark(run.program.kept->plan, run.program.synchronous);
  if (!remark.empty()) settings.say(remark);
}

}  // namespace

void add_sends_option(CLI::App& command, OrderOptions& options, const std::string& otherwise) {
  add_option(command, "--sends", options.transfers,
             "when transfers start: eager, rendezvous, explicit, stream or blocking (default: " + otherwise + ")");
}

void add_order_options(CLI::App& command, OrderOptions& options) {
  add_option(command, "--schedule-file", options.schedule_file,
             "the orders of this file, which may be a .csv of PyTorch, instead of the plan's schedule");
  add_sends_option(command, options, "as the file says, or eager");
}

void add_simulated_run_options(CLI::App& command, SimulatedRunOptions& options) {
  add_required(command, "PLAN", options.plan, "plan file, YAML or JSON");
  add_plan_input_options(command, options.inputs);
  add_simulation_options(command, options.simulation);
  add_length_options(command, options.length);
  add_order_options(command, options.orders);
}

std::vector<std::string> files_read(const SimulatedRunOptions& options, const PlanFiles& files) {
  std::vector<std::string> paths{files.plan.path, files.inputs.model, files.inputs.platform.platform};
  for (const auto& file : {options.orders.schedule_file, options.simulation.events}) {
    if (file) paths.push_back(*file);
  }
  return paths;
}

PreparedRun prepare_plan(const SimulatedRunOptions& options, const PlanFiles& files, const Settings& settings) {
  PreparedRun run;
  prepare(options, files, settings, run);
  return run;
}

SimulatedRun simulate_plan(const SimulatedRunOptions& options, const PlanFiles& files,
                           const std::optional<Recording>& recording, const Settings& settings) {
  SimulatedRun run;
  prepare(options, files, settings, run);
  SimulationChoices choices = run.choices;
  choices.recording = recording;
  if (run.orders) choices.literal = std::move(run.orders->schedule);
  run.orders.reset();
  run.simulation = simulate_program(run.input.graph, run.inputs.platform, run.program, choices, settings);
  return run;
}

Recording recording_for(const std::string& option, bool part) {
  if (part) return {option};
  return {
      option, run_limits::kMostWritten,
      "; --timeline-window FROM..TO takes a part of a run of up to " + counted(run_limits::kMostRecorded, "operation")};
}

TracedRun traced(const SimulatedRun& run) { return {run.simulation, run.inputs.platform}; }

Detail::Record about(const SimulatedRun& run) {
  return {{"program", "stagecraft"},
          {"platform", run.inputs.platform.spec.name},
          {"schedule", run.program.kept->plan.schedule.name},
          {"engine", to_string(run.simulation.choices.engine)}};
}

std::optional<TimeRange> read_window(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const InputPlace place{"", 0, 0, "--timeline-window"};
  const std::size_t dots = text->find("..");
  const Parsed<Seconds> from = parse_seconds(text->substr(0, dots));
  const Parsed<Seconds> to = parse_seconds(dots == std::string::npos ? "" : text->substr(dots + 2));
  if (!from || !to || *from.value >= *to.value) {
    throw InputError(
        "expected two times with units FROM..TO in ascending order, such as '1.5 s..2 s', found " + quote(*text),
        place);
  }
  return TimeRange{*from.value, *to.value};
}

}  // namespace stagecraft
