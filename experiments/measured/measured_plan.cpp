#include "experiments/measured/measured_plan.hpp"

#include "experiments/run/judge.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/megatron_import.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/model/training_choice.hpp"

#include <fmt/core.h>

#include <cstddef>
#include <utility>

namespace stagecraft {
namespace {

[[noreturn]] void refuse_step(const MeasuredStep& step, const std::string& message, const std::string& hint = "") {
  throw InputError(message, step.place, hint);
}

std::int64_t devices_of(const MeasuredStep& step) { return step.pipeline * step.data * step.degrees.devices(); }

/// The run of Megatron-LM that the step was.
MegatronRun run_of(const MeasuredStep& step) {
  MegatronRun run;
  run.ranks = devices_of(step);
  run.pipeline = step.pipeline;
  run.degrees = step.degrees;
  run.layout = step.layout;
  if (step.chunks > 1) (step.layout ? run.split.virtual_stages : run.split.chunks) = step.chunks;
  run.microbatch_size = step.microbatch_size;
  run.global_batch = step.global_batch;
  if (step.training.recompute == RecomputedPart::Blocks) run.recompute = MegatronRecompute{};
  return run;
}

/// Where nothing divides the network it is one unit, whatever its layers.
NetworkUnits units_of(const MeasuredStep& step, const LayerGraph& graph) {
  const bool is_whole = step.pipeline == 1 && step.training.recompute != RecomputedPart::Blocks && !step.layout;
  return is_whole ? NetworkUnits{canonical_order(graph), {}, {}} : network_units(graph);
}

/// What Megatron-LM makes of the run. Flags that are wrong are columns here.
MegatronPlan planned(const MeasuredStep& step, const LayerGraph& graph, const Platform& platform) {
  const MegatronFlags no_flags({}, std::nullopt, "");
  try {
    return megatron_plan(run_of(step), no_flags, graph, units_of(step, graph), std::ssize(platform.devices));
  } catch (const InputError& error) {
    const bool is_division = error.place().key == "--pipeline-model-parallel-size";
    refuse_step(step, error.message(), is_division ? "the column 'layout' divides blocks in any way" : "");
  }
}

/// The devices of the groups for which the replicas stand.
std::vector<Stage> on_members(std::vector<Stage> stages, std::int64_t members) {
  for (Stage& stage : stages) {
    for (Group& replica : stage.replicas) {
      const auto first = replica.lead().value() * static_cast<std::size_t>(members);
      replica.devices.clear();
      for (std::size_t m = 0; m < static_cast<std::size_t>(members); ++m) replica.devices.emplace_back(first + m);
    }
  }
  return stages;
}

}  // namespace

Plan measured_plan(const MeasuredStep& step, const LayerGraph& graph, const Platform& platform) {
  if (devices_of(step) > std::ssize(platform.devices)) {
    refuse_step(step,
                fmt::format("the step ran on {}, and the platform {} has {}", counted(devices_of(step), "device"),
                            quote(platform.spec.name), platform.devices.size()),
                "pipeline x data x the devices of a group; the platform may be a file of your own");
  }
  MegatronPlan made = planned(step, graph, platform);
  Plan plan;
  plan.planner = "measured";
  plan.model = graph.name;
  plan.platform = platform.spec.name;
  plan.microbatch_size = step.microbatch_size;
  plan.microbatches = made.microbatches;
  plan.degrees = step.degrees;
  plan.schedule = std::move(made.schedule);
  TrainingChoice training;
  training.recipe = step.training.optimizer;
  training.zero = step.training.zero;
  training.gradient_bucket = step.training.gradient_bucket;
  plan.training = training_of(training, graph);
  plan.stages = on_members(std::move(made.stages), step.degrees.devices());
  if (const auto problem = size_problem(graph, plan, 1)) refuse_step(step, *problem);
  if (const auto broken = check_plan(graph, platform, plan); !broken.empty()) {
    refuse_step(step, broken.front().message);
  }
  return plan;
}

}  // namespace stagecraft
