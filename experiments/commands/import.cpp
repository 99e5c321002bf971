#include "experiments/commands/add_option.hpp"
#include "experiments/commands/import_collectives.hpp"
#include "experiments/commands/import_kineto.hpp"
#include "experiments/commands/import_log.hpp"
#include "experiments/commands/import_model.hpp"
#include "experiments/commands/import_plan.hpp"
#include "experiments/commands/import_platform.hpp"
#include "experiments/commands/import_sailor.hpp"
#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/option_text.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::int64_t kMostPasses = 1'000'000;

/// What descriptions of nodes do not say.
struct NodeOptions {
  std::optional<std::string> nodes;
  std::optional<std::string> nic_bandwidth;
  std::optional<std::string> host_memory;
};

/// Options of traces.
struct TraceOptions {
  std::optional<std::string> layers;
  std::optional<std::string> passes;
  bool without_shapes = false;
  bool timeline = false;
};

/// The options of all formats; each format has its own.
struct ImportOptions {
  std::string format;
  std::vector<std::string> files;
  std::optional<std::string> device;
  std::optional<std::string> time_unit;
  std::optional<std::string> precision;
  std::optional<std::string> model;
  std::optional<std::string> platform;
  std::optional<std::string> ranks;
  std::vector<std::string> speeds;
  PlanningOptions planning;
  bool live_weights = false;
  NodeOptions node;
  std::optional<std::string> flags;
  std::optional<std::string> warmup;
  TraceOptions traces;
  std::optional<std::string> output;

  [[nodiscard]] const std::string& file() const { return files.front(); }  ///< of a format that reads one
};

/// An option that some formats have.
struct ImportOption {
  std::string name;
  bool (*is_given)(const ImportOptions&);
};

const std::vector<ImportOption>& import_options() {
  using Options = ImportOptions;
  static const std::vector<ImportOption> kOptions = {
      {"--microbatch-size", [](const Options& o) { return o.planning.microbatch_size.has_value(); }},
      {"--device", [](const Options& o) { return o.device.has_value(); }},
      {"--time-unit", [](const Options& o) { return o.time_unit.has_value(); }},
      {"--precision", [](const Options& o) { return o.precision.has_value(); }},
      {"--model", [](const Options& o) { return o.model.has_value(); }},
      {"--platform", [](const Options& o) { return o.platform.has_value(); }},
      {"--ranks", [](const Options& o) { return o.ranks.has_value(); }},
      {"--speed", [](const Options& o) { return !o.speeds.empty(); }},
      {"--schedule", [](const Options& o) { return o.planning.schedule.has_value(); }},
      {"--microbatches", [](const Options& o) { return o.planning.microbatches.has_value(); }},
      {"--training", [](const Options& o) { return o.planning.training.has_value(); }},
      {"--live-weights", [](const Options& o) { return o.live_weights; }},
      {"--nodes", [](const Options& o) { return o.node.nodes.has_value(); }},
      {"--nic-bandwidth", [](const Options& o) { return o.node.nic_bandwidth.has_value(); }},
      {"--host-memory", [](const Options& o) { return o.node.host_memory.has_value(); }},
      {"--flags", [](const Options& o) { return o.flags.has_value(); }},
      {"--warmup", [](const Options& o) { return o.warmup.has_value(); }},
      {"--layers", [](const Options& o) { return o.traces.layers.has_value(); }},
      {"--passes", [](const Options& o) { return o.traces.passes.has_value(); }},
      {"--without-shapes", [](const Options& o) { return o.traces.without_shapes; }},
      {"--timeline", [](const Options& o) { return o.traces.timeline; }},
  };
  return kOptions;
}

/// A format of another program.
struct ImportFormat {
  std::string name;
  std::string summary;                ///< of a file
  std::vector<std::string> required;  ///< options
  std::vector<std::string> optional;  ///< options beside those and --output
  Answer (*import)(const ImportOptions&, const Settings&);
  bool reads_several = false;  ///< files
};

/// Refuses options that the format does not have, and asks for those that it needs.
void check_options(const ImportFormat& format, const ImportOptions& options) {
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  const std::string hint = "see stagecraft import --help";
  if (options.files.size() > 1 && !format.reads_several) {
    throw InputError("expected one file to import " + format.name + ", found " + std::to_string(options.files.size()),
                     {}, hint);
  }
  for (const ImportOption& option : import_options()) {
    const bool is_given = option.is_given(options);
    if (!is_given && has(format.required, option.name)) {
      throw InputError(option.name + " is required to import " + format.name, {}, hint);
    }
    if (is_given && !has(format.required, option.name) && !has(format.optional, option.name)) {
      throw InputError("does not apply to " + format.name, {"", 0, 0, option.name}, hint);
    }
  }
}

ModelImport model_import(const ImportOptions& options) {
  return {options.file(), options.planning.microbatch_size, *options.device, options.time_unit, options.output};
}

PlanImport plan_import(const ImportOptions& options) {
  const InputOptions inputs{*options.model, {*options.platform, options.speeds}};
  return {options.file(), options.ranks, inputs, options.planning, options.live_weights, options.output};
}

PlatformImport platform_import(const ImportOptions& options) {
  return {options.file(),           *options.device, options.node.nodes, options.node.nic_bandwidth,
          options.node.host_memory, options.output};
}

Answer import_traces(const ImportOptions& options, const Settings& settings) {
  const KinetoChoice choice{options.traces.layers,
                            read_count_option("--passes", options.traces.passes, 1, kMostPasses)};
  return import_kineto({options.files, choice, options.planning.microbatch_size, options.device,
                        options.traces.without_shapes, options.traces.timeline, options.output},
                       settings);
}

/// Profiles, plans and what says how a plan runs.
std::vector<ImportFormat> formats_of_models() {
  using Options = ImportOptions;
  const std::vector<std::string> of_plans = {"--speed",           "--schedule", "--microbatches",
                                             "--microbatch-size", "--training", "--live-weights"};
  const std::vector<std::string> inputs = {"--model", "--platform"};
  std::vector<std::string> with_ranks = of_plans;
  with_ranks.emplace_back("--ranks");
  return {
      {"pipedream",
       "the graph text of PipeDream's profiler",
       {"--microbatch-size", "--device"},
       {},
       [](const Options& o, const Settings& settings) { return import_pipedream_profile(model_import(o), settings); }},
      {"dapple",
       "the same as DAPPLE publishes it",
       {"--device"},
       {"--microbatch-size"},
       [](const Options& o, const Settings& settings) { return import_dapple_profile(model_import(o), settings); }},
      {"pipedream-plan", "the same with the stages that its optimizer chose", inputs, with_ranks,
       [](const Options& o, const Settings& settings) { return import_pipedream_plan(plan_import(o), settings); }},
      {"piper",
       "a profile for Piper's planner",
       {"--microbatch-size", "--device"},
       {"--time-unit"},
       [](const Options& o, const Settings& settings) { return import_piper_profile(model_import(o), settings); }},
      {"dnn-partitioning",
       "a graph for the programs of dnn-partitioning",
       {"--microbatch-size", "--device"},
       {"--time-unit"},
       [](const Options& o, const Settings& settings) {
         return import_dnn_partitioning_profile(model_import(o), settings);
       }},
      {"sailor",
       "a profile for Sailor's planner",
       {"--model", "--device"},
       {"--precision"},
       [](const Options& o, const Settings& settings) {
         return import_sailor_profile({o.file(), *o.model, *o.device, o.precision, o.output}, settings);
       }},
      {"vpipe", "a plan of vPipe's program", inputs, of_plans,
       [](const Options& o, const Settings& settings) { return import_vpipe(plan_import(o), settings); }},
      {"megatron-flags",
       "the flags of a run of Megatron-LM",
       inputs,
       {"--speed"},
       [](const Options& o, const Settings& settings) { return import_megatron(plan_import(o), settings); }},
  };
}

/// Networks, and what was measured on them.
std::vector<ImportFormat> formats_of_runs() {
  using Options = ImportOptions;
  const std::vector<std::string> of_nodes = {"--nodes", "--nic-bandwidth", "--host-memory"};
  return {
      {"megatron-log",
       "logs of Megatron-LM, for a table of measured steps",
       {"--model"},
       {"--platform", "--flags", "--warmup"},
       [](const Options& o, const Settings& settings) {
         return import_megatron_log({o.files, *o.model, o.platform, o.flags, o.warmup, o.output}, settings);
       },
       true},
      {"nvidia-topo",
       "what nvidia-smi topo -m prints of a node",
       {"--device"},
       of_nodes,
       [](const Options& o, const Settings&) { return import_topo(platform_import(o)); }},
      {"nccl-topology",
       "the XML of a node that NCCL and RCCL write with NCCL_TOPO_DUMP_FILE",
       {"--device"},
       of_nodes,
       [](const Options& o, const Settings& settings) { return import_nccl_topology(platform_import(o), settings); }},
      {"simai-topo",
       "the network that SimAI reads",
       {"--device"},
       {},
       [](const Options& o, const Settings& settings) { return import_simai_topo(platform_import(o), settings); }},
      {"astra-sim-network",
       "the network of ASTRA-sim's analytical backends",
       {"--device"},
       {},
       [](const Options& o, const Settings& settings) { return import_astra_network(platform_import(o), settings); }},
      {"nccl-tests",
       "what programs of nccl-tests print, for the constants of collectives",
       {"--platform"},
       {},
       [](const Options& o, const Settings& settings) {
         return import_collectives({o.files, *o.platform, o.output}, settings);
       },
       true},
      {"kineto",
       "traces of the PyTorch profiler, one for each rank",
       {},
       {"--microbatch-size", "--device", "--layers", "--passes", "--without-shapes", "--timeline"},
       import_traces,
       true},
  };
}

const std::vector<ImportFormat>& import_formats() {
  static const std::vector<ImportFormat> kFormats = [] {
    std::vector<ImportFormat> formats = formats_of_models();
    std::ranges::move(formats_of_runs(), std::back_inserter(formats));
    return formats;
  }();
  return kFormats;
}

std::string formats_help() {
  std::string text;
  for (const ImportFormat& format : import_formats()) {
    text += (text.empty() ? "" : "; ") + format.name + ": " + format.summary;
  }
  return text;
}

const ImportFormat& chosen_format(const std::string& text) {
  std::vector<std::string> names;
  for (const ImportFormat& format : import_formats()) names.push_back(format.name);
  return *std::ranges::find(import_formats(), read_choice_option("FORMAT", text, names), &ImportFormat::name);
}

void add_options_of_plans(CLI::App& command, ImportOptions& options) {
  add_option(command, "--ranks", options.ranks,
             "pipedream-plan: the configuration of PipeDream's runtime (JSON), which gives the ranks of each stage; "
             "default: each stage has one device");
  add_repeated(command, "--speed", options.speeds,
               "KIND=X: plans: speed of a kind of device relative to the others; may be repeated");
  add_option(command, "--schedule", options.planning.schedule,
             "plans: schedule, with parameters as NAME,K=V,...; default: pipedream");
  add_option(command, "--microbatches", options.planning.microbatches,
             "plans: microbatches in an iteration, or the least length of an asynchronous run; default: as for plan");
  add_option(command, "--training", options.planning.training,
             "plans: K=V,...: how much training keeps in memory, as for plan");
  add_flag(command, "--live-weights", options.live_weights,
           "plans: one weight version more on each stage than the schedule implies, as the programs of PipeDream and "
           "vPipe have");
}

void add_options_of_traces(CLI::App& command, TraceOptions& options) {
  add_option(command, "--layers", options.layers,
             "kineto: names of the annotations or modules that are layers, with * for any characters, or 'operators'; "
             "default: modules, if the trace has any, and otherwise operators");
  add_option(command, "--passes", options.passes,
             "kineto: forward passes in each trace; default: runs of the first layer, or steps of the profiler");
  add_flag(command, "--without-shapes", options.without_shapes,
           "kineto: sizes of layers whose shapes were not recorded are 0");
  add_flag(
      command, "--timeline", options.timeline,
      "kineto: list the forwards and backwards of passes, and the transfers, as 'simulate --timeline --json' does");
}

VerbAction configure_import(CLI::App& command) {
  auto options = std::make_shared<ImportOptions>();
  add_required(command, "FORMAT", options->format, formats_help());
  add_required_list(command, "FILE", options->files,
                    "the profile, the plan, the flags, the matrix, the topology, the network, tables, or traces");
  add_option(
      command, "--microbatch-size", options->planning.microbatch_size,
      "samples in the microbatch that was profiled, dapple: by default N of 'pbs-N' in the name of the file; of a "
      "plan: in a microbatch, by default the smallest size that the model file gives");
  add_option(
      command, "--device", options->device,
      "profiles: kind of device on which the times were measured; nvidia-topo, nccl-topology, simai-topo, "
      "astra-sim-network: kind of the GPUs, one of 'stagecraft list devices', or, but for nvidia-topo, a device file");
  add_option(command, "--time-unit", options->time_unit,
             "piper, dnn-partitioning: unit of the times in the file: s, ms, us or ns; default: s of piper, ms of "
             "dnn-partitioning");
  add_option(command, "--precision", options->precision,
             "sailor: in which was profiled: fp32 (default), tf32, fp16, bf16 or fp8");
  add_option(command, "--model", options->model,
             "plans, megatron-log: the model: a file, or the name of a shipped one; sailor: the network that was "
             "profiled");
  add_option(command, "--platform", options->platform,
             "plans, nccl-tests, megatron-log: the platform: a file, or the name of a shipped one");
  add_options_of_plans(command, *options);
  add_option(command, "--nodes", options->node.nodes, "nvidia-topo, nccl-topology: nodes of the cluster; default: 1");
  add_option(
      command, "--nic-bandwidth", options->node.nic_bandwidth,
      "nvidia-topo, nccl-topology: of one NIC, such as 200Gbps, where the file does not give it; default: nodes do "
      "not have it");
  add_option(command, "--host-memory", options->node.host_memory,
             "nvidia-topo, nccl-topology: of a node, such as 1TB; default: nothing can be swapped");
  add_option(command, "--flags", options->flags,
             "megatron-log: file with the flags of the run; default: the arguments at the head of the log");
  add_option(command, "--warmup", options->warmup, "megatron-log: first iterations that are left out; default: 10");
  add_options_of_traces(command, options->traces);
  add_option(command, "-o,--output", options->output,
             "write the model, the plan, the platform or the table to this file, as JSON if its name ends in .json");
  return [options](const Settings& settings) {
    const ImportFormat& format = chosen_format(options->format);
    check_options(format, *options);
    return format.import(*options, settings);
  };
}

}  // namespace

const Verb import_verb{
    .name = "import",
    .summary =
        "turn another tool's profile into a model file, its plan into a plan file, or its view of a machine into a "
        "platform",
    .configure = configure_import,
    .examples = {"stagecraft import pipedream graph.txt --microbatch-size 64 --device V100-SXM2-16GB -o model.yaml"},
};

}  // namespace stagecraft
