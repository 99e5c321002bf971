#include "planners/balanced_cuts.hpp"
#include "planners/cost_model.hpp"
#include "planners/planner.hpp"
#include "sim/base/error.hpp"

#include <algorithm>

namespace stagecraft {

extern const PlannerInfo uniform_planner;

namespace {

/// Which devices each stage gets: runs of `replicas` in platform order.
std::vector<std::vector<DeviceId>> device_runs(std::size_t stage_count, std::size_t replicas) {
  std::vector<std::vector<DeviceId>> runs(stage_count);
  for (std::size_t i = 0; i < stage_count * replicas; ++i) runs[i / replicas].emplace_back(i);
  return runs;
}

std::size_t stage_count(const PlanRequest& request, std::size_t replicas) {
  const std::size_t device_count = request.platform.devices.size();
  const std::size_t layer_count = request.graph.layers.size();
  const auto wanted = static_cast<std::size_t>(request.options.count("stages"));
  if (replicas > device_count) {
    throw InputError("planner 'uniform': " + std::to_string(replicas) + " replicas on " + std::to_string(device_count) +
                     " devices");
  }
  if (wanted == 0) return std::min(device_count / replicas, layer_count);
  if (wanted * replicas > device_count) {
    throw InputError("planner 'uniform': " + std::to_string(wanted) + " stages of " + std::to_string(replicas) +
                     " replicas need " + std::to_string(wanted * replicas) + " devices, the platform has " +
                     std::to_string(device_count));
  }
  if (wanted > layer_count) {
    throw InputError("planner 'uniform': " + std::to_string(wanted) + " stages, but the model has only " +
                     std::to_string(layer_count) + " layers");
  }
  return wanted;
}

std::vector<std::vector<LayerId>> recompute_segments(const std::vector<LayerId>& layers, const std::string& what) {
  if (what == "none") return {};
  if (what == "stage") return {layers};
  std::vector<std::vector<LayerId>> segments;
  for (LayerId layer : layers) segments.push_back({layer});
  return segments;
}

std::vector<Stage> cut_stages(const PlanRequest& request, const std::vector<std::vector<DeviceId>>& runs) {
  const std::string& recompute = request.options.word("recompute");
  std::vector<Stage> stages = balanced_stages(request.graph, request.platform, runs, recompute != "none");
  for (Stage& stage : stages) stage.recompute = recompute_segments(stage.layers, recompute);
  return stages;
}

PlanResult plan_uniform(const PlanRequest& request) {
  const auto replicas = static_cast<std::size_t>(request.options.count("replicas"));
  Plan plan = empty_plan(uniform_planner, request);
  plan.stages = cut_stages(request, device_runs(stage_count(request, replicas), replicas));
  Seconds largest{0};
  for (const Stage& stage : plan.stages) {
    largest = std::max(largest, stage_time(request.graph, request.platform, stage).total());
  }
  plan.predicted = claimed_figures(plan, largest, static_cast<std::int64_t>(replicas));
  return judged(request, {std::move(plan), {{"stage_time_s", largest.value()}}});
}

}  // namespace

const PlannerInfo uniform_planner{
    .name = "uniform",
    .summary = "contiguous stages of equal compute, one device or an equal number of replicas each",
    .source = "common practice; the exact minimiser of the largest stage time",
    .default_schedule = "1f1b",
    .options = {{"stages", std::int64_t{0}, "number of stages; 0: as many as the devices allow", {}, 0},
                {"replicas", std::int64_t{1}, "devices of every stage", {}, 1},
                {"recompute",
                 std::string("none"),
                 "what is recomputed in the backward: nothing, each layer by itself, or the whole stage",
                 {"none", "layer", "stage"}}},
    .plan = plan_uniform,
};

}  // namespace stagecraft
