#include "experiments/commands/add_option.hpp"
#include "experiments/commands/simulated_run.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/written_file.hpp"
#include "experiments/view/chakra_trace.hpp"
#include "experiments/view/perfetto_trace.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/megatron_export.hpp"
#include "sim/io/megatron_run.hpp"
#include "sim/io/schedule_csv.hpp"
#include "sim/schedule/kept_plan.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

struct ExportOptions : SimulatedRunOptions {
  std::string format;
  std::string output;
  std::optional<std::string> window;
};

constexpr const char* kPerfetto = "perfetto";
constexpr const char* kChakra = "chakra";
constexpr const char* kPytorchCsv = "pytorch-csv";
constexpr const char* kMegatronFlags = "megatron-flags";

SimulatedRun recorded(const ExportOptions& options, const PlanFiles& files, const Settings& settings) {
  SimulatedRun run = simulate_plan(options, files, recording_for("--to", options.window.has_value()), settings);
  if (run.simulation.report.out_of_memory())
    settings.say("note: the plan runs out of memory; the run goes on to its end");
  return run;
}

Answer written_to(const std::string& format, const std::vector<std::string>& files) {
  const std::string others = files.size() > 1 ? ", …, " + files.back() : "";
  return {.text = "written to " + files.front() + others + "\n",
          .json = to_json(Detail::Record{{"format", format}, {"files", Detail::List(files.begin(), files.end())}})};
}

Answer export_perfetto(const ExportOptions& options, const Settings& settings) {
  const std::optional<TimeRange> window = read_window(options.window);
  const bool is_file = names_file(options.output);
  if (!is_file && settings.json) {
    throw InputError("a trace is no JSON document, which standard output would be", {"", 0, 0, "--json"},
                     "name a file with --output, or leave out --json");
  }
  const PlanFiles files = read_plan_files(options.plan, options.inputs);
  refuse_overwriting(options.output, OutputKind::PerfettoTrace, files_read(options, files));
  const SimulatedRun run = recorded(options, files, settings);
  const TextSource trace = [&](const TextSink& sink) { perfetto_trace(traced(run), about(run), window, sink); };
  if (!is_file) return {.text = text_of(trace), .json = ""};
  write_file_atomically(options.output, trace);
  return written_to(kPerfetto, {options.output});
}

[[noreturn]] void refuse_option(const std::string& format, const char* option, const std::string& reason,
                                const std::string& hint) {
  throw InputError("does not apply to " + format + ": " + reason, {"", 0, 0, option}, hint);
}

/// Refuses what Chakra cannot say, so that no file says something false.
void refuse_for_chakra(const ExportOptions& options) {
  const auto refuse = [](const char* option, const std::string& reason, const std::string& hint) {
    refuse_option(kChakra, option, reason, hint);
  };
  if (!names_file(options.output)) {
    refuse("--output", "it has a file for each device, and standard output is one",
           "--output run writes run.0.et, run.1.et and so on");
  }
  if (options.output.empty() || options.output.ends_with('/')) {
    throw InputError("expected what the names of the files begin with, found " + quote(options.output),
                     {"", 0, 0, "--output"}, "--output run writes run.0.et, run.1.et and so on");
  }
  if (options.window) {
    refuse("--timeline-window", "operations of a part of a run wait for others that it lacks",
           "leave it out, or export a shorter run");
  }
  if (options.simulation.events) {
    refuse("--events", "it has no way to say that devices and links change during a run", "leave out the events");
  }
  if (options.simulation.replan != "none") {
    refuse("--replan", "it has no way to say that the plan changes during a run", "leave it out");
  }
  const SimulationChoices choices = read_simulation_choices(options.simulation);
  if (choices.iterations > 1) {
    refuse("--iterations", "the barrier between iterations has no node that ASTRA-sim runs", "export one iteration");
  }
  if (choices.network == NetworkModel::Analytic) {
    refuse("--network", "the channels of the analytic network are no messages between devices",
           "leave it out: messages then cross the platform's links");
  }
}

/// The sizes of what the plan's rings reduce.
RingBytes ring_bytes_of(const SimulatedRun& run) {
  RingBytes rings;
  for (const RingBuckets::Ring& ring : run.program.kept->work->rings().rings) rings.push_back(sizes_of(ring.buckets));
  return rings;
}

std::string trace_file(const std::string& prefix, DeviceId device) {
  return prefix + "." + std::to_string(device.value()) + ".et";
}

/// Refuses to leave a file of another export beside the new ones, where readers would take it for one of them.
void refuse_left_over(const std::string& file) {
  std::error_code problem;
  if (!std::filesystem::exists(file, problem)) return;
  throw InputError("is left over from another export, and would be read with the new files", {file, 0, 0, ""},
                   "remove it, or choose another --output");
}

Answer export_chakra(const ExportOptions& options, const Settings& settings) {
  refuse_for_chakra(options);
  const std::string& prefix = options.output;
  const std::string groups = prefix + ".groups.json";
  const PlanFiles read = read_plan_files(options.plan, options.inputs);
  if (parse_plan_header(read.plan.text, read.plan.path).degrees.devices() > 1) {
    throw InputError("a plan with groups of devices cannot be exported to chakra", {options.plan, 0, 0, "groups"},
                     "--to perfetto shows its run");
  }
  const std::vector<std::string> inputs = files_read(options, read);
  refuse_overwriting(groups, OutputKind::ChakraGroups, inputs);
  refuse_overwriting(trace_file(prefix, DeviceId(0)), OutputKind::ChakraTrace, inputs);  // before any work
  const SimulatedRun run = recorded(options, read, settings);
  if (run.program.kept->plan.training.zero > 0) {
    throw InputError("a plan whose replicas divide the optimizer's state cannot be exported to chakra",
                     {options.plan, 0, 0, "training.zero"}, "--to perfetto shows its run");
  }
  const Platform& platform = run.inputs.platform;
  std::vector<std::string> files;
  for (const DeviceId device : indices(platform.devices)) {
    refuse_overwriting(files.emplace_back(trace_file(prefix, device)), OutputKind::ChakraTrace, inputs);
  }
  refuse_left_over(trace_file(prefix, DeviceId(platform.devices.size())));
  const ChakraRun graphs = chakra_run(run.simulation.record, platform, ring_bytes_of(run));
  if (graphs.groups.empty()) refuse_left_over(groups);
  for (const DeviceId device : indices(platform.devices)) {
    write_file_atomically(files[device.value()], chakra_trace(device, graphs, about(run)));
  }
  if (!graphs.groups.empty()) write_file_atomically(files.emplace_back(groups), chakra_groups(graphs) + "\n");
  return written_to(kChakra, files);
}

/// A table has the orders of one iteration, so it has nothing of what happens in a run.
void refuse_for_table(const ExportOptions& options) {
  const auto refuse = [](const char* option, const std::string& reason) {
    refuse_option(kPytorchCsv, option, reason, "leave it out");
  };
  if (options.window) refuse("--timeline-window", "it has orders without times");
  if (options.simulation.events) refuse("--events", "it has the orders before the run, which events do not change");
  if (options.simulation.replan != "none") refuse("--replan", "it has no way to say that the plan changes");
  if (read_simulation_choices(options.simulation).iterations > 1) {
    refuse("--iterations", "every iteration has the same orders");
  }
}

/// The orders that the plan's devices run, in one iteration.
GivenOrders orders_of(PreparedRun& run) {
  if (run.orders) return *std::move(run.orders);
  const Plan& plan = run.program.kept->plan;
  if (!run.program.synchronous) {
    throw InputError("a table of PyTorch has one iteration, but the schedule " + quote(plan.schedule.name) +
                     " has no iterations");
  }
  return {run.program.orders({0, plan.microbatches})};
}

Answer export_table(const ExportOptions& options, const Settings& settings) {
  refuse_for_table(options);
  const bool is_file = names_file(options.output);
  if (!is_file && settings.json) {
    throw InputError("a table is no JSON document, which standard output would be", {"", 0, 0, "--json"},
                     "name a file with --output, or leave out --json");
  }
  const PlanFiles files = read_plan_files(options.plan, options.inputs);
  refuse_overwriting(options.output, OutputKind::OrderTable, files_read(options, files));
  PreparedRun run = prepare_plan(options, files, settings);
  std::string table;
  try {
    table = write_schedule_csv(orders_of(run), run.program.kept->plan);
  } catch (const InputError& error) {
    throw InputError(error.message(), {options.orders.schedule_file.value_or(options.plan), 0, 0, ""}, error.hint());
  }
  if (!is_file) return {.text = table, .json = ""};
  write_file_atomically(options.output, table);
  return written_to(kPytorchCsv, {options.output});
}

/// Flags say how a run is set up, so they have nothing of what happens in it.
void refuse_for_flags(const ExportOptions& options) {
  const auto refuse = [](const char* option, const std::string& reason) {
    refuse_option(kMegatronFlags, option, reason, "leave it out");
  };
  if (options.window) refuse("--timeline-window", "flags have no times");
  if (options.orders.schedule_file) refuse("--schedule-file", "Megatron-LM makes the orders of its schedules itself");
  if (options.orders.transfers) refuse("--sends", "Megatron-LM has an order of sends and receives of its own");
  if (options.simulation.events) refuse("--events", "flags say nothing of what changes during a run");
  if (options.simulation.replan != "none") refuse("--replan", "flags have no way to say that the plan changes");
  if (read_simulation_choices(options.simulation).iterations > 1) {
    refuse("--iterations", "every iteration has the same flags");
  }
}

Answer export_flags(const ExportOptions& options, const Settings& settings) {
  refuse_for_flags(options);
  const bool is_file = names_file(options.output);
  if (!is_file && settings.json) {
    throw InputError("flags are no JSON document, which standard output would be", {"", 0, 0, "--json"},
                     "name a file with --output, or leave out --json");
  }
  const PlanFiles files = read_plan_files(options.plan, options.inputs);
  refuse_overwriting(options.output, OutputKind::MegatronFlags, files_read(options, files));
  const PreparedRun run = prepare_plan(options, files, settings);
  MegatronExport made;
  try {
    made = megatron_export(run.program.kept->plan, run.input.graph, run.inputs.platform,
                           has_selective_recompute(run.inputs).value_or(false));
  } catch (const InputError& error) {
    throw InputError(error.message(), {options.plan, 0, 0, error.place().key}, error.hint());
  }
  settings.say("note: the flags are for " + counted(made.devices.size(), "rank"));
  for (const std::string& note : made.notes) settings.say("note: " + note);
  const std::string text = write_megatron_flags(made.run);
  if (!is_file) return {.text = text, .json = ""};
  write_file_atomically(options.output, text);
  return written_to(kMegatronFlags, {options.output});
}

Answer answer_export(const ExportOptions& options, const Settings& settings) {
  const std::string format =
      read_choice_option("--to", options.format, {kPerfetto, kChakra, kPytorchCsv, kMegatronFlags});
  if (format == kMegatronFlags) return export_flags(options, settings);
  if (format == kPytorchCsv) return export_table(options, settings);
  return format == kChakra ? export_chakra(options, settings) : export_perfetto(options, settings);
}

VerbAction configure_export(CLI::App& command) {
  auto options = std::make_shared<ExportOptions>();
  add_simulated_run_options(command, *options);
  add_required(command, "--to", options->format, "the format: perfetto, chakra, pytorch-csv or megatron-flags");
  add_option(command, "--timeline-window", options->window,
             "FROM..TO, such as '1.5 s..2 s': only this part of the run; for perfetto");
  add_required(command, "-o,--output", options->output,
               "write to this file; - is standard output; for chakra what the names of its files begin with");
  return [options](const Settings& settings) { return answer_export(*options, settings); };
}

}  // namespace

const Verb export_verb{
    .name = "export",
    .summary = "write a plan, its run or its orders in the format of another tool",
    .configure = configure_export,
    .examples = {"stagecraft export plan.yaml --to perfetto -o run.perfetto-trace"},
};

}  // namespace stagecraft
