#include "experiments/commands/import_plan.hpp"

#include "experiments/commands/pipedream_depths.hpp"
#include "experiments/commands/plan_output.hpp"
#include "experiments/run/planning.hpp"
#include "experiments/run/written_file.hpp"
#include "planners/planner.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/import_pipedream_plan.hpp"
#include "sim/io/import_vpipe.hpp"
#include "sim/io/json.hpp"
#include "sim/io/megatron_flags.hpp"
#include "sim/io/megatron_import.hpp"
#include "sim/io/megatron_network.hpp"
#include "sim/io/megatron_run.hpp"
#include "sim/io/megatron_unread.hpp"
#include "sim/io/pipedream_conf.hpp"
#include "sim/io/pipedream_graph.hpp"
#include "sim/io/plan_file.hpp"
#include "sim/io/text_file.hpp"
#include "sim/model/detail.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/workload/computed_profiles.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace stagecraft {
namespace {

/// A file as a planner whose plan is always the same: so its plan is completed and checked as any other.
PlannerInfo file_planner(const std::string& format, const std::string& summary) {
  return {.name = "imported-" + format,
          .summary = summary,
          .source = "a file",
          .default_schedule = "pipedream",
          .options = {},
          .plan = {},
          .orders_turns = true};
}

PlannerInfo vpipe_file(const VpipePlan& file) {
  PlannerInfo planner = file_planner("vpipe", "a plan of vPipe's program");
  planner.plan = [planner, file](const PlanRequest& request) -> PlanResult {
    Planned planned{empty_plan(planner, request), {}};
    planned.plan.stages = vpipe_stages(file, request.graph, request.platform);
    std::vector<std::string> first;
    for (LayerId layer : planned.plan.stages.front().layers) first.push_back(quote(request.graph.layers[layer].name));
    const auto blocks = static_cast<std::size_t>(file.partition.front());
    if (first.size() > blocks) {
      planned.notes.push_back("the model has one layer more than the plan has blocks, so " + first[0] + " and " +
                              first[1] + " are the first block");
    }
    return planned;
  };
  return planner;
}

PlannerInfo pipedream_file(const PipedreamGraph& graph, const std::optional<PipedreamConf>& conf) {
  PlannerInfo planner = file_planner("pipedream", "a plan of PipeDream's optimizer");
  planner.plan = [planner, graph, conf](const PlanRequest& request) -> PlanResult {
    Planned planned{empty_plan(planner, request), {}};
    planned.plan.stages = pipedream_stages(graph, conf, request.graph, request.platform);
    if (conf && !conf->depths.empty()) keep_depths(conf->depths, request, planned);
    return planned;
  };
  return planner;
}

/// A clone of the weights for every microbatch in flight, and the weights that are updated.
void add_live_weights(Planning& planning, const Platform& platform) {
  const ScheduleProgram& program = *planning.program;
  if (program.synchronous) {
    throw InputError("applies to asynchronous schedules only", {"", 0, 0, "--live-weights"},
                     "a synchronous schedule needs no further version of the weights");
  }
  Plan& plan = std::get<Planned>(planning.result).plan;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) plan.stages[s].weight_versions = program.weight_versions[s] + 1;
  planning.program = recompiled(planning.graph, platform, program, plan);
}

std::int64_t recomputed_layers(const Plan& plan) {
  std::int64_t count = 0;
  for (const Stage& stage : plan.stages) {
    for (const Recompute& segment : actions_of<Recompute>(stage)) count += std::ssize(segment.layers);
  }
  return count;
}

std::int64_t replicas_of(const Plan& plan) {
  std::int64_t count = 0;
  for (const Stage& stage : plan.stages) count += std::ssize(stage.replicas);
  return count;
}

/// What the summary says of a plan at its end, for people and for programs.
struct Ending {
  std::string text;
  std::string key;
  std::int64_t value = 0;
};

Answer summary_of(const Planning& planning, const std::string& output, const Ending& ending) {
  const Plan& plan = planning.planned()->plan;
  const Detail::Record record{{"file", output},
                              {"model", plan.model},
                              {"platform", plan.platform},
                              {"schedule", schedule_text(plan.schedule)},
                              {"stages", std::ssize(plan.stages)},
                              {"microbatches", plan.microbatches},
                              {"microbatch_size", plan.microbatch_size},
                              {"layers", static_cast<std::int64_t>(planning.graph.layers.size())},
                              {ending.key, ending.value}};
  return {.text = output + ": " + counted(plan.stages.size(), "stage") + " of " + plan.model + " on " + plan.platform +
                  ", " + schedule_text(plan.schedule) + ", " + counted(plan.microbatches, "microbatch") + " of " +
                  counted(plan.microbatch_size, "sample") + "; " + ending.text + "\n",
          .json = to_json(record)};
}

/// Completes the plan of the file with the choices, and writes it.
Answer imported(const PlannerInfo& planner, const PlanImport& import, const Inputs& inputs,
                const PlanningChoices& choices, const Settings& settings,
                const std::function<Ending(const Planning&)>& ending) {
  Planning planning = make_plan(planner, inputs, choices, settings.say);
  tell_plan(planning, inputs.platform, settings.say);
  if (import.live_weights) add_live_weights(planning, inputs.platform);
  const std::string output = import.output.value_or("-");
  return with_plan_written(output, planning, inputs.platform, settings, summary_of(planning, output, ending(planning)));
}

/// The same with the choices of the user.
Answer imported(const PlannerInfo& planner, const PlanImport& import, const Settings& settings,
                const std::function<Ending(const Planning&)>& ending) {
  const PlanningChoices choices = read_planning_choices(import.planning);
  return imported(planner, import, load_inputs(import.inputs, settings), choices, settings, ending);
}

/// The model as the flags have it: Megatron-LM places whole blocks.
InputOptions inputs_of(const MegatronRun& run, const InputOptions& given) {
  InputOptions inputs = given;
  inputs.of_plan = ModelChoice{
      .computed = {.sequence = run.sequence, .precision = run.precision, .granularity = "block"}, .is_of_plan = true};
  if (run.recomputes_attention) inputs.of_plan->computed.selective_recompute = true;
  return inputs;
}

PlannerInfo megatron_file(const std::vector<Stage>& stages) {
  PlannerInfo planner = file_planner("megatron-flags", "a run of Megatron-LM");
  planner.plan = [planner, stages](const PlanRequest& request) -> PlanResult {
    Planned planned{empty_plan(planner, request), {}};
    planned.plan.stages = stages;
    return planned;
  };
  return planner;
}

/// Refuses figures that are not those of the recomputation of the run.
void check_recompute(const MegatronRun& run, const MegatronFlags& flags, const Inputs& inputs,
                     std::vector<std::string>& not_compared) {
  const std::optional<bool> has = has_selective_recompute(inputs);
  const std::string flag = flags.has("recompute-activations") ? "recompute-activations" : "recompute-granularity";
  const std::string model = "the figures of the model " + quote(inputs.model.profiles.front().name);
  if (!has && run.recomputes_attention) not_compared.push_back("--" + flag);
  if (!has || *has == run.recomputes_attention) return;
  throw InputError(
      model + (*has ? " are those of selective recomputation" : " are those without recomputation"), flags.place(flag),
      *has ? "add --recompute-granularity selective" : "'stagecraft model --selective-recompute' has others");
}

std::vector<std::string> files_read(const PlanImport& import) {
  std::vector<std::string> files{import.file, import.inputs.model, import.inputs.platform.platform};
  if (import.ranks) files.push_back(*import.ranks);
  return files;
}

}  // namespace

Answer import_vpipe(const PlanImport& import, const Settings& settings) {
  refuse_overwriting(import.output, OutputKind::PlanFile, files_read(import));
  const PlannerInfo planner = vpipe_file(parse_vpipe(read_text_file(import.file), import.file));
  return imported(planner, import, settings, [](const Planning& planning) -> Ending {
    const std::int64_t recomputed = recomputed_layers(planning.planned()->plan);
    return {
        .text = "recomputes " + std::to_string(recomputed) + " of " + counted(planning.graph.layers.size(), "layer"),
        .key = "recomputed_layers",
        .value = recomputed};
  });
}

Answer import_pipedream_plan(const PlanImport& import, const Settings& settings) {
  refuse_overwriting(import.output, OutputKind::PlanFile, files_read(import));
  const PipedreamGraph graph = parse_pipedream_graph(read_text_file(import.file), import.file);
  std::optional<PipedreamConf> conf;
  if (import.ranks) conf = parse_pipedream_conf(read_text_file(*import.ranks), *import.ranks);
  return imported(pipedream_file(graph, conf), import, settings, [](const Planning& planning) -> Ending {
    const std::int64_t replicas = replicas_of(planning.planned()->plan);
    return {.text = counted(replicas, "replica"), .key = "replicas", .value = replicas};
  });
}

Answer import_megatron(const PlanImport& import, const Settings& settings) {
  refuse_overwriting(import.output, OutputKind::PlanFile, files_read(import));
  MegatronFlags flags = parse_megatron_flags(read_text_file(import.file), import.file);
  const MegatronRun run = read_megatron_run(flags);
  const MegatronNetwork network = read_megatron_network(flags);
  const UnreadFlags unread = unread_flags(flags);
  const Inputs inputs = load_inputs(inputs_of(run, import.inputs), settings);
  const LayerGraph& graph = inputs.model.profiles.front();
  const MegatronPlan plan = megatron_plan(run, flags, graph, network_units(graph), std::ssize(inputs.platform.devices));
  std::vector<std::string> not_compared = compare_network(network, run, flags, network_sizes(inputs.model), graph);
  check_recompute(run, flags, inputs, not_compared);
  for (const std::string& note : megatron_notes(run, flags, unread, not_compared)) settings.say("note: " + note);
  PlanningChoices choices;
  choices.schedule = plan.schedule;
  choices.microbatches = plan.microbatches;
  choices.microbatch_size = run.microbatch_size;
  choices.degrees = run.degrees;
  choices.training = plan.training;
  return imported(
      megatron_file(plan.stages), import, inputs, choices, settings, [&](const Planning& planning) -> Ending {
        const std::int64_t size = std::ssize(planning.planned()->plan.stages.front().replicas) * run.degrees.samples();
        return {.text = "data-parallel size " + std::to_string(size), .key = "data_parallel_size", .value = size};
      });
}

}  // namespace stagecraft
