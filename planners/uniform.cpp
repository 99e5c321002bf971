#include "planners/planner.hpp"
#include "planners/shared/balanced_cuts.hpp"
#include "planners/shared/cost_model.hpp"
#include "planners/shared/stage_devices.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace stagecraft {

extern const PlannerInfo uniform_planner;

namespace {

/// The schedule does not place so many stages. `possible`: the most that it places, up to `wanted`; 0 for none.
InputError unplaceable(const PlanRequest& request, std::size_t wanted, std::size_t replicas, std::size_t possible) {
  const std::size_t devices = request.platform.devices.size();
  return InputError(
      fmt::format("planner 'uniform': schedule {} cannot place {} on {}{}", quote(schedule_text(request.schedule)),
                  counted(wanted, "stage"), counted(devices, "device"),
                  replicas > 1 ? fmt::format(", with {} replicas each", replicas) : ""),
      {}, possible > 0 ? "it can place " + std::to_string(possible) : "");
}

/// The schedule's placement of the stages: as many as the option asks for, or else as many as devices and layers allow.
Placement place(const PlanRequest& request, std::size_t replicas) {
  const std::size_t device_count = request.platform.devices.size();
  const std::size_t layer_count = request.graph.layers.size();
  const auto wanted = static_cast<std::size_t>(request.options.count("stages"));
  const bool is_straight = require_family(request.schedule.name).placement == straight_placement;
  require_devices(uniform_planner, request, is_straight ? std::max<std::size_t>(wanted, 1) : 1, replicas);
  const std::size_t most = wanted == 0 ? layer_count : wanted;
  Placement placement = largest_placement(request.schedule, device_count / replicas, most);
  if (const std::size_t possible = pipeline_stages(placement); wanted != 0 && possible != wanted) {
    throw unplaceable(request, wanted, replicas, possible);
  }
  if (wanted > layer_count) {
    throw InputError("planner 'uniform': " + counted(wanted, "stage") + ", but the model has only " +
                     counted(layer_count, "layer"));
  }
  if (placement.empty()) {
    throw InputError("planner 'uniform': schedule " + quote(request.schedule.name) +
                     " needs more stages than the model has layers");
  }
  return placement;
}

std::vector<MemoryAction> recomputes(const std::vector<LayerId>& layers, const std::string& what) {
  if (what == "none") return {};
  if (what == "stage") return {Recompute{layers}};
  std::vector<MemoryAction> actions;
  for (LayerId layer : layers) actions.emplace_back(Recompute{{layer}});
  return actions;
}

std::vector<Stage> cut_stages(const PlanRequest& request, std::size_t replicas) {
  const Placement placement = place(request, replicas);
  const std::string& recompute = request.options.word("recompute");
  const auto runs = device_runs(request.platform.devices.size() / replicas, replicas);
  std::vector<Stage> stages = placed_stages(request.graph, request.platform, placement, runs, recompute != "none");
  for (Stage& stage : stages) stage.memory = recomputes(stage.layers, recompute);
  return stages;
}

PlanResult plan_uniform(const PlanRequest& request) {
  const auto replicas = static_cast<std::size_t>(request.options.count("replicas"));
  Plan plan = empty_plan(uniform_planner, request);
  plan.stages = cut_stages(request, replicas);
  Seconds largest{0};
  for (const Stage& stage : plan.stages) {
    largest = std::max(largest, stage_time(request.graph, request.platform, stage).total());
  }
  const Seconds device_time = largest_device_time(request.graph, request.platform, plan);
  plan.predicted = claimed_figures(plan, device_time, static_cast<std::int64_t>(replicas));
  return judged(request, {std::move(plan), {{"stage_time_s", largest.value()}}});
}

}  // namespace

const PlannerInfo uniform_planner{
    .name = "uniform",
    .summary = "contiguous stages of about equal compute time, each on one device or the same number of replicas",
    .source = "common practice; the cut with the least largest stage time (exact)",
    .default_schedule = "1f1b",
    .options = {stages_option("devices, schedule and layers"),
                replicas_option(),
                {"recompute",
                 std::string("none"),
                 "what the backward recomputes: nothing, each layer by itself, or the whole stage",
                 {"none", "layer", "stage"}}},
    .plan = plan_uniform,
};

}  // namespace stagecraft
