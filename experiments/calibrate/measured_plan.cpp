#include "experiments/calibrate/measured_plan.hpp"

#include "experiments/run/judge.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/network_units.hpp"
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

void append_unit(Stage& stage, const std::vector<LayerId>& unit, bool recomputes) {
  stage.layers.insert(stage.layers.end(), unit.begin(), unit.end());
  if (recomputes) stage.memory.emplace_back(Recompute{unit});
}

/// Of any network, which is a unit of its own.
std::vector<Stage> one_stage(const LayerGraph& graph) {
  std::vector<Stage> stages(1);
  stages.front().layers = canonical_order(graph);
  return stages;
}

std::vector<Stage> equal_stages(const MeasuredStep& step, const LayerGraph& graph) {
  if (step.pipeline == 1 && !step.recomputes) return one_stage(graph);
  NetworkUnits units;
  try {
    units = network_units(graph);
  } catch (const InputError& error) {
    refuse_step(step, error.message(), error.hint());
  }
  const std::int64_t count = step.pipeline * step.chunks;
  const auto blocks = std::ssize(units.blocks);
  if (blocks % count != 0) {
    refuse_step(step, fmt::format("{} of {} cannot be divided equally among {}", counted(blocks, "block"),
                                  quote(step.model), counted(count, "stage")));
  }
  std::vector<Stage> stages(static_cast<std::size_t>(count));
  append_unit(stages.front(), units.embedding, false);
  for (std::int64_t block = 0; block < blocks; ++block) {
    Stage& stage = stages[static_cast<std::size_t>(block * count / blocks)];
    append_unit(stage, units.blocks[static_cast<std::size_t>(block)], step.recomputes);
  }
  append_unit(stages.back(), units.head, false);
  return stages;
}

void place_stages(const MeasuredStep& step, const Platform& platform, std::vector<Stage>& stages) {
  const std::int64_t members = step.degrees.devices();
  const std::int64_t needed = step.pipeline * step.data * members;
  const auto there = std::ssize(platform.devices);
  if (needed > there) {
    refuse_step(step,
                fmt::format("the step ran on {}, and the platform {} has {}", counted(needed, "device"),
                            quote(platform.spec.name), there),
                "pipeline x data x the devices of a group; --platform takes a file of your own");
  }
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const std::int64_t rank = static_cast<std::int64_t>(s) % step.pipeline;
    for (std::int64_t replica = 0; replica < step.data; ++replica) {
      Group group;
      const std::int64_t first = (rank * step.data + replica) * members;
      for (std::int64_t m = first; m < first + members; ++m) group.devices.emplace_back(static_cast<std::size_t>(m));
      stages[s].replicas.push_back(std::move(group));
    }
  }
}

std::int64_t microbatches_of_step(const MeasuredStep& step) {
  const std::int64_t at_once = step.microbatch_size * step.degrees.samples() * step.data;
  if (step.global_batch % at_once != 0) {
    refuse_step(step,
                fmt::format("a global batch of {} is no multiple of the {} that the replicas run at once",
                            counted(step.global_batch, "sample"), at_once),
                "microbatch_size x data, in groups of experts for each device with samples of its own");
  }
  return step.global_batch / (step.microbatch_size * step.degrees.samples());
}

}  // namespace

Plan measured_plan(const MeasuredStep& step, const LayerGraph& graph, const Platform& platform) {
  Plan plan;
  plan.planner = "measured";
  plan.model = graph.name;
  plan.platform = platform.spec.name;
  plan.microbatch_size = step.microbatch_size;
  plan.microbatches = microbatches_of_step(step);
  plan.degrees = step.degrees;
  plan.schedule.name = step.chunks > 1 ? "interleaved-1f1b" : "1f1b";
  if (step.chunks > 1) plan.schedule.parameters.emplace_back("chunks", step.chunks);
  TrainingChoice training;
  training.zero = step.zero;
  training.gradient_bucket = step.gradient_bucket;
  plan.training = training_of(training, graph);
  plan.stages = equal_stages(step, graph);
  place_stages(step, platform, plan.stages);
  if (const auto problem = size_problem(graph, plan, 1)) refuse_step(step, *problem);
  if (const auto broken = check_plan(graph, platform, plan); !broken.empty()) {
    refuse_step(step, broken.front().message);
  }
  return plan;
}

}  // namespace stagecraft
