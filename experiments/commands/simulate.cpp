#include "experiments/commands/add_option.hpp"
#include "experiments/commands/applied_change.hpp"
#include "experiments/commands/plan_output.hpp"
#include "experiments/commands/simulated_run.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/written_file.hpp"
#include "experiments/view/ascii_timeline.hpp"
#include "experiments/view/perfetto_trace.hpp"
#include "experiments/view/run_page.hpp"
#include "experiments/view/simulation_record.hpp"
#include "experiments/view/simulation_text.hpp"
#include "experiments/view/svg_timeline.hpp"
#include "experiments/view/terminal_colours.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/schedule/kept_plan.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

struct SimulateOptions : SimulatedRunOptions {
  bool timeline = false;
  bool transfers = false;
  std::optional<std::string> window;
  std::optional<std::string> trace;
  std::optional<std::string> report;
  std::optional<std::string> picture;
  ApplyOptions apply;
  [[nodiscard]] bool draws() const { return timeline || transfers || window; }
};

/// `record` is that of the simulation.
std::string json_of(Detail::Record record, const Simulation& simulation, const Platform& platform, bool draws,
                    const std::optional<TimeRange>& window) {
  const Timeline& whole = simulation.record.timeline;
  const Timeline part = window ? part_of(whole, *window) : Timeline();
  if (draws) record.emplace_back("timeline", timeline_list(window ? part : whole, platform));
  return to_json(std::move(record));
}

/// Writes the files that the user has named.
void write_files(const SimulateOptions& options, const SimulatedRun& run, const Explanation& explanation,
                 const std::optional<TimeRange>& window, bool timings) {
  const Simulation& simulation = run.simulation;
  const Platform& platform = run.inputs.platform;
  if (options.report) {
    const ShownRun shown{{simulation, run.program.kept->plan, platform}, run.input.graph, explanation, timings};
    write_file_atomically(*options.report, [&](const TextSink& sink) { run_page(shown, window, sink); });
  }
  if (options.picture) {
    write_file_atomically(*options.picture, svg_timeline(simulation.record.timeline, platform, window));
  }
  if (options.trace) {
    write_file_atomically(*options.trace,
                          [&](const TextSink& sink) { perfetto_trace(traced(run), about(run), window, sink); });
  }
}

/// A report and a trace are not on standard output both.
void refuse_standard_output(const std::optional<std::string>& trace) {
  if (!trace || names_file(trace)) return;
  throw InputError("expected the name of a file, found '-'", {"", 0, 0, "--trace"},
                   "export PLAN --to perfetto -o - writes the trace to standard output");
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

/// The files that the run is written to, by option.
using Outputs = std::vector<std::pair<const char*, std::string>>;

Outputs outputs_of(const SimulateOptions& options) {
  Outputs outputs;
  if (options.trace) outputs.emplace_back("--trace", *options.trace);
  if (options.report) outputs.emplace_back("--report", *options.report);
  if (options.picture) outputs.emplace_back("--picture", *options.picture);
  if (names_file(options.apply.output)) outputs.emplace_back("--output", *options.apply.output);
  return outputs;
}

/// Refuses two outputs with one name, of which one would be lost.
void refuse_same_file(const Outputs& outputs) {
  std::map<std::string, const char*> known;
  for (const auto& [option, file] : outputs) {
    std::error_code problem;  // then the names are compared as they are
    const std::filesystem::path whole = std::filesystem::weakly_canonical(file, problem);
    const auto [first, is_new] = known.try_emplace(problem ? file : whole.string(), option);
    if (!is_new) throw InputError("is also the file of " + std::string(first->second), {file, 0, 0, option});
  }
}

/// The record that the options need, if any.
std::optional<Recording> recording_of(const SimulateOptions& options) {
  const char* option = options.report    ? "--report"
                       : options.trace   ? "--trace"
                       : options.picture ? "--picture"
                       : options.window  ? "--timeline-window"
                       : options.draws() ? "--timeline"
                                         : nullptr;
  return option != nullptr ? std::optional(recording_for(option, options.window.has_value())) : std::nullopt;
}

/// Refuses files that cannot be written, or that would replace something else, before any work.
void refuse_outputs(const SimulateOptions& options, const std::vector<std::string>& inputs) {
  refuse_overwriting(options.trace, OutputKind::PerfettoTrace, inputs);
  refuse_for_browsers("--report", options.report, ".html", OutputKind::RunPage, inputs);
  refuse_for_browsers("--picture", options.picture, ".svg", OutputKind::Picture, inputs);
  refuse_overwriting(options.apply.output, OutputKind::PlanFile, inputs);
  refuse_same_file(outputs_of(options));
}

Answer answer_simulate(const SimulateOptions& options, const Settings& settings) {
  const std::optional<TimeRange> window = read_window(options.window);
  const std::optional<std::int64_t> change = read_apply_options(options.apply, options);
  refuse_standard_output(options.trace);
  const PlanFiles files = read_plan_files(options.plan, options.inputs);
  refuse_outputs(options, files_read(options, files));
  SimulatedRun run = simulate_plan(options, files, recording_of(options), settings);
  run.simulation.kept = run_kept(run.input.graph, run.inputs.platform, run.program, run.simulation);
  run.simulation.ladder = simulated_ladder(run.input.graph, run.inputs.platform, run.program, run.simulation);
  const Inputs& inputs = run.inputs;
  const LayerGraph& graph = run.input.graph;
  const Simulation& simulation = run.simulation;
  const Plan& plan = run.program.kept->plan;
  const Explanation explanation = explain(inputs, graph, run.program, simulation);
  std::optional<Plan> changed;
  if (change) changed = changed_plan(run, explanation.remedies, *change);
  write_files(options, run, explanation, window, settings.timings);
  Answer answer;
  answer.code = simulation.report.out_of_memory() ? ExitCode::No : ExitCode::Done;
  answer.text = simulation_text(simulation, plan, inputs.platform, explanation, settings.timings);
  if (options.draws()) {
    answer.text += "\n" + ascii_timeline(simulation.record.timeline, inputs.platform,
                                         {terminal_columns(), options.transfers, window, output_shows_colours()});
  }
  const Outputs outputs = outputs_of(options);
  if (!outputs.empty()) answer.text += "\n";
  for (const auto& [option, file] : outputs) answer.text += "written to " + file + "\n";
  if (settings.json) {
    answer.json = json_of(simulation_record(simulation, graph, plan, inputs.platform, explanation, settings.timings),
                          simulation, inputs.platform, options.draws(), window);
  }
  if (!changed) return answer;
  answer.code = ExitCode::Done;
  return with_plan_written(*options.apply.output, *changed, graph, inputs.platform, std::move(answer));
}

VerbAction configure_simulate(CLI::App& command) {
  auto options = std::make_shared<SimulateOptions>();
  add_simulated_run_options(command, *options);
  add_flag(command, "--verify-steady", options->simulation.verify_steady,
           "simulate a long run to its end even where its state comes again, and say what differs");
  add_flag(command, "--timeline", options->timeline,
           "draw the last iteration; with --json, list every operation of the run");
  add_flag(command, "--transfers", options->transfers, "like --timeline, with rows for transfers");
  add_option(command, "--timeline-window", options->window,
             "FROM..TO, such as '1.5 s..2 s': like --timeline, for this part of the run");
  add_option(command, "--trace", options->trace, "write the run as a trace for Perfetto to this file");
  add_option(command, "--report", options->report,
             "write the run as a page to this file: timeline, memory and links over time, what waits for what");
  add_option(
      command, "--picture", options->picture,
      "draw the computations of each device as an SVG image to this file; with --timeline-window a part of the run");
  add_apply_options(command, options->apply);
  return [options](const Settings& settings) { return answer_simulate(*options, settings); };
}

}  // namespace

const Verb simulate_verb{
    .name = "simulate",
    .summary = "simulate a plan and report where the time and the memory go",
    .configure = configure_simulate,
    .examples = {"stagecraft simulate plan.yaml --timeline",
                 "stagecraft simulate plan.yaml --iterations 2 --report run.html"},
};

}  // namespace stagecraft
