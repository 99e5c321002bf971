#include "experiments/commands/add_option.hpp"
#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/judge.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/plan_input.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/update_size.hpp"
#include "experiments/run/written_file.hpp"
#include "experiments/view/ascii_timeline.hpp"
#include "experiments/view/chrome_trace.hpp"
#include "experiments/view/run_page.hpp"
#include "experiments/view/simulation_record.hpp"
#include "experiments/view/simulation_text.hpp"
#include "experiments/view/svg_timeline.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/events_file.hpp"
#include "sim/io/json.hpp"
#include "sim/io/schedule_file.hpp"
#include "sim/io/sha256.hpp"
#include "sim/io/text_file.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

struct SimulateOptions {
  InputOptions inputs;
  SimulationOptions simulation;
  LengthOptions length;
  std::string plan;
  std::optional<std::string> schedule_file;
  bool timeline = false;
  bool transfers = false;
  std::optional<std::string> window;
  std::optional<std::string> trace;
  std::optional<std::string> report;
  std::optional<std::string> picture;
  [[nodiscard]] bool draws() const { return timeline || transfers || window; }
};

/// Reads the orders of a schedule file, which replace the plan's own schedule.
Schedule take_orders(const std::string& path, const Platform& platform, Plan& plan) {
  plan.schedule = {"literal", {}};
  plan.predicted = {};  // it was predicted for another schedule
  plan.rounds_per_update = 1;
  return read_schedule_file(path, platform);
}

/// `FROM..TO`, two times with their units. None if the option is not given.
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

/// `record` is that of the simulation.
std::string json_of(Detail::Record record, const Simulation& simulation, const Platform& platform, bool draws,
                    const std::optional<TimeRange>& window) {
  const Timeline& whole = simulation.record.timeline;
  const Timeline part = window ? part_of(whole, *window) : Timeline();
  if (draws) record.emplace_back("timeline", timeline_list(window ? part : whole, platform));
  return to_json(std::move(record));
}

/// The program of the plan, with the samples of an update that the user has chosen.
ScheduleProgram compiled(const SimulateOptions& options, const PlanInput& input, const Platform& platform) {
  Judgement judged = judge_plan(input.graph, platform, input.reading);
  refuse_findings(options.plan, "the plan breaks a rule", judged.findings, "stagecraft check lists every violation");
  const auto samples = read_samples_per_update(options.length);
  if (!samples) return *std::move(judged.program);
  return with_samples_per_update(input.graph, platform, *std::move(judged.program), *samples);
}

/// Writes the trace to its file, or makes it the answer.
Answer with_trace(const std::string& path, const Simulation& simulation, const ScheduleProgram& program,
                  const Platform& platform, const std::optional<TimeRange>& window, Answer answer) {
  const bool crosses_links = simulation.choices.network == NetworkModel::Platform;
  const TracedRun run{platform, simulation.record, crosses_links};
  const std::string text = chrome_trace(run,
                                        {{"program", "stagecraft"},
                                         {"platform", platform.spec.name},
                                         {"schedule", program.kept->plan.schedule.name},
                                         {"engine", to_string(simulation.choices.engine)}},
                                        window);
  if (names_file(path)) {
    write_file_atomically(path, text + "\n");
  } else {
    answer.text = text + "\n";
    answer.json = text;
  }
  return answer;
}

/// Refuses a file whose name browsers would not take for what it is, or that would replace something else.
void refuse_for_browsers(const char* option, const std::optional<std::string>& file, const char* extension,
                         OutputKind kind, const std::vector<std::string>& inputs) {
  if (file && !file->ends_with(extension)) {
    throw InputError("expected a name that ends in " + std::string(extension) + ", found " + quote(*file),
                     {"", 0, 0, option});
  }
  refuse_overwriting(file, kind, inputs);
}

Answer answer_simulate(const SimulateOptions& options, const Settings& settings) {
  SimulationChoices choices = read_simulation_choices(options.simulation);
  if (choices.replan && options.schedule_file) {
    throw InputError("a plan with the orders of a --schedule-file cannot change", {"", 0, 0, "--replan"});
  }
  const std::optional<TimeRange> window = read_window(options.window);
  choices.record = options.draws() || options.trace || options.report || options.picture;
  const std::vector<std::string> inputs_read{options.plan, options.inputs.model, options.inputs.platform.platform};
  refuse_overwriting(options.trace, OutputKind::Trace, inputs_read);
  refuse_for_browsers("--report", options.report, ".html", OutputKind::RunPage, inputs_read);
  refuse_for_browsers("--picture", options.picture, ".svg", OutputKind::Picture, inputs_read);
  const Inputs inputs = load_inputs(options.inputs, settings);
  take_events(options.simulation, inputs, choices, settings);
  PlanInput input = load_plan(options.plan, inputs, settings.say);
  Plan& given = input.reading.plan;
  if (options.schedule_file) choices.literal = take_orders(*options.schedule_file, inputs.platform, given);
  choices.run_length = read_run_length(options.length);
  if (choices.run_length && !require_family(given.schedule.name).synchronous) {
    given.microbatches = std::max(given.microbatches, *choices.run_length);
  }
  const ScheduleProgram program = compiled(options, input, inputs.platform);
  if (choices.literal) {
    refuse_findings(*options.schedule_file, "the orders do not fit the plan",
                    judge_orders(input.graph, inputs.platform, program, *choices.literal),
                    "stagecraft check with the same --schedule-file lists every violation");
  }
  if (choices.iterations > 1 && !program.synchronous) {
    throw InputError("applies to synchronous schedules only", {"", 0, 0, "--iterations"},
                     "--run-length gives the length of an asynchronous run");
  }
  refuse_run_length(choices.run_length, program.synchronous);
  const Plan& plan = program.kept->plan;
  const std::string remark = prediction_remark(plan, program.synchronous);
  if (!remark.empty()) settings.say(remark);
  const Simulation simulation = simulate_program(input.graph, inputs.platform, program, choices, settings);
  const Explanation explanation = explain(inputs, input.graph, program, simulation);
  std::string text = simulation_text(simulation, plan, inputs.platform, explanation, settings.timings);
  if (options.draws()) {
    text += "\n" + ascii_timeline(simulation.record.timeline, inputs.platform,
                                  {terminal_columns(), options.transfers, window});
  }
  Answer answer{.text = std::move(text),
                .json = settings.json ? json_of(simulation_record(simulation, input.graph, plan, inputs.platform,
                                                                  explanation, settings.timings),
                                                simulation, inputs.platform, options.draws(), window)
                                      : std::string(),
                .code = simulation.report.out_of_memory() ? ExitCode::No : ExitCode::Done};
  if (options.report) {
    const ShownRun shown{{simulation, plan, inputs.platform}, input.graph, explanation, settings.timings};
    write_file_atomically(*options.report, run_page(shown, window));
  }
  if (options.picture) {
    write_file_atomically(*options.picture, svg_timeline(simulation.record.timeline, inputs.platform, window));
  }
  if (!options.trace) return answer;
  return with_trace(*options.trace, simulation, program, inputs.platform, window, std::move(answer));
}

VerbAction configure_simulate(CLI::App& command) {
  auto options = std::make_shared<SimulateOptions>();
  add_required(command, "PLAN", options->plan, "plan file, YAML or JSON");
  add_input_options(command, options->inputs);
  add_simulation_options(command, options->simulation);
  add_length_options(command, options->length);
  add_option(command, "--schedule-file", options->schedule_file,
             "run the plan with the orders of this file instead of the plan's schedule");
  add_flag(command, "--timeline", options->timeline,
           "draw the last iteration; with --json, list every operation of the run");
  add_flag(command, "--transfers", options->transfers, "like --timeline, with rows for transfers");
  add_option(command, "--timeline-window", options->window,
             "FROM..TO, such as '1.5 s..2 s': like --timeline, for this part of the run");
  add_option(command, "--trace", options->trace,
             "write the run as a trace for Perfetto and chrome://tracing to this file; - is standard output");
  add_option(command, "--report", options->report,
             "write the run as a page to this file: timeline, memory and links over time, what waits for what");
  add_option(
      command, "--picture", options->picture,
      "draw the computations of each device as an SVG image to this file; with --timeline-window a part of the run");
  return [options](const Settings& settings) { return answer_simulate(*options, settings); };
}

}  // namespace

const Verb simulate_verb{
    .name = "simulate",
    .summary = "simulate a plan and report where the time and the memory go",
    .configure = configure_simulate,
};

}  // namespace stagecraft
