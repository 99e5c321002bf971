#include "experiments/commands/add_option.hpp"
#include "experiments/commands/import_plan.hpp"
#include "experiments/commands/model_answer.hpp"
#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/limits.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/written_file.hpp"
#include "sim/base/error.hpp"
#include "sim/io/import_pipedream.hpp"
#include "sim/io/pipedream_graph.hpp"
#include "sim/io/text_file.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

/// The options of all formats; each format has its own.
struct ImportOptions {
  std::string format;
  std::string file;
  std::optional<std::string> device;
  std::optional<std::string> model;
  std::optional<std::string> platform;
  std::optional<std::string> ranks;
  std::vector<std::string> speeds;
  PlanningOptions planning;
  bool live_weights = false;
  std::optional<std::string> output;
};

using Given = std::vector<std::pair<std::string, bool>>;  ///< options, and whether they are given

void require_given(const std::string& format, const Given& options) {
  for (const auto& [name, is_given] : options) {
    if (is_given) continue;
    throw InputError(std::string(name).append(" is required to import ") + format, {}, "see stagecraft import --help");
  }
}

void refuse_given(const std::string& format, const Given& options) {
  for (const auto& [name, is_given] : options) {
    if (is_given) throw InputError("does not apply to " + format, {"", 0, 0, name}, "see stagecraft import --help");
  }
}

Answer import_profile(const ImportOptions& options, const Settings& settings) {
  const PlanningOptions& planning = options.planning;
  require_given("pipedream", {{"--microbatch-size", planning.microbatch_size.has_value()},
                              {"--device", options.device.has_value()}});
  refuse_given("pipedream", {{"--model", options.model.has_value()},
                             {"--platform", options.platform.has_value()},
                             {"--ranks", options.ranks.has_value()},
                             {"--speed", !options.speeds.empty()},
                             {"--schedule", planning.schedule.has_value()},
                             {"--microbatches", planning.microbatches.has_value()},
                             {"--training", planning.training.has_value()},
                             {"--live-weights", options.live_weights}});
  const auto size = read_count_option("--microbatch-size", *planning.microbatch_size, 1, run_limits::kMostSamples);
  const std::string device = read_name_option("--device", *options.device);
  refuse_overwriting(options.output, OutputKind::ModelFile, {options.file});
  const PipedreamGraph graph = parse_pipedream_graph(read_text_file(options.file), options.file);
  Answer answer = model_answer(import_pipedream(graph, size, device), options.output);
  if (has_stages(graph)) {
    settings.say(
        "note: the model has the layers of the graph and not its stages (stage_id); stagecraft import pipedream-plan "
        "makes them a plan");
  }
  return answer;
}

Answer import_plan(const std::string& format, const ImportOptions& options, const Settings& settings) {
  require_given(format, {{"--model", options.model.has_value()}, {"--platform", options.platform.has_value()}});
  refuse_given(format, {{"--device", options.device.has_value()}});
  if (format == "vpipe") refuse_given(format, {{"--ranks", options.ranks.has_value()}});
  const InputOptions inputs{*options.model, {*options.platform, options.speeds}};
  const PlanImport import{options.file, options.ranks, inputs, options.planning, options.live_weights, options.output};
  return format == "vpipe" ? import_vpipe(import, settings) : import_pipedream_plan(import, settings);
}

Answer import_flags(const ImportOptions& options, const Settings& settings) {
  const std::string format = "megatron-flags";
  const PlanningOptions& planning = options.planning;
  require_given(format, {{"--model", options.model.has_value()}, {"--platform", options.platform.has_value()}});
  refuse_given(format, {{"--device", options.device.has_value()},
                        {"--ranks", options.ranks.has_value()},
                        {"--schedule", planning.schedule.has_value()},
                        {"--microbatches", planning.microbatches.has_value()},
                        {"--microbatch-size", planning.microbatch_size.has_value()},
                        {"--training", planning.training.has_value()},
                        {"--live-weights", options.live_weights}});
  const InputOptions inputs{*options.model, {*options.platform, options.speeds}};
  return import_megatron({options.file, {}, inputs, {}, false, options.output}, settings);
}

VerbAction configure_import(CLI::App& command) {
  auto options = std::make_shared<ImportOptions>();
  add_required(command, "FORMAT", options->format,
               "pipedream: the graph text of PipeDream's profiler; pipedream-plan: the same with the stages that its "
               "optimizer chose; vpipe: a plan of vPipe's program; megatron-flags: the flags of a run of Megatron-LM");
  add_required(command, "FILE", options->file, "the profile, the plan or the flags");
  add_option(command, "--microbatch-size", options->planning.microbatch_size,
             "samples in the microbatch that was profiled; of a plan: in a microbatch, by default the smallest size "
             "that the model file gives");
  add_option(command, "--device", options->device, "pipedream: kind of device on which the times were measured");
  add_option(command, "--model", options->model, "plans: the model: a file, or the name of a shipped one");
  add_option(command, "--platform", options->platform, "plans: the platform: a file, or the name of a shipped one");
  add_option(command, "--ranks", options->ranks,
             "pipedream-plan: the configuration of PipeDream's runtime (JSON), which gives the ranks of each stage; "
             "default: each stage has one device");
  add_repeated(command, "--speed", options->speeds,
               "KIND=X: plans: speed of a kind of device relative to the others; may be repeated");
  add_option(command, "--schedule", options->planning.schedule,
             "plans: schedule, with parameters as NAME,K=V,...; default: pipedream");
  add_option(command, "--microbatches", options->planning.microbatches,
             "plans: microbatches in an iteration, or the least length of an asynchronous run; default: as for plan");
  add_option(command, "--training", options->planning.training,
             "plans: K=V,...: how much training keeps in memory, as for plan");
  add_flag(command, "--live-weights", options->live_weights,
           "plans: one weight version more on each stage than the schedule implies, as the programs of PipeDream and "
           "vPipe have");
  add_option(command, "-o,--output", options->output,
             "write the model or the plan to this file, as JSON if its name ends in .json");
  return [options](const Settings& settings) {
    const std::string format =
        read_choice_option("FORMAT", options->format, {"pipedream", "pipedream-plan", "vpipe", "megatron-flags"});
    if (format == "pipedream") return import_profile(*options, settings);
    if (format == "megatron-flags") return import_flags(*options, settings);
    return import_plan(format, *options, settings);
  };
}

}  // namespace

const Verb import_verb{
    .name = "import",
    .summary = "turn another tool's profile into a model file, or its plan into a plan file",
    .configure = configure_import,
    .examples = {"stagecraft import pipedream graph.txt --microbatch-size 64 --device V100-SXM2-16GB -o model.yaml"},
};

}  // namespace stagecraft
