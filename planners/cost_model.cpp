#include "planners/cost_model.hpp"

#include "sim/base/error.hpp"

#include <algorithm>

namespace stagecraft {

double slowest_factor(const LayerGraph& graph, const Platform& platform, const std::vector<DeviceId>& devices) {
  STAGECRAFT_CHECK(!devices.empty(), "a stage with at least one device");
  double factor = 0.0;
  for (DeviceId device : devices) {
    factor = std::max(factor, require_time_factor(platform, graph.device_kind, device));
  }
  return factor;
}

StageTime stage_time(const LayerGraph& graph, const Platform& platform, const Stage& stage) {
  StageTime sum;
  for (LayerId layer : stage.layers) {
    sum.forward += graph.layers[layer].forward;
    sum.backward += graph.layers[layer].backward;
  }
  for (const std::vector<LayerId>& segment : stage.recompute) {
    for (LayerId layer : segment) sum.backward += graph.layers[layer].forward;
  }
  const double factor = slowest_factor(graph, platform, stage.devices);
  return {sum.forward * factor, sum.backward * factor};
}

bool is_asynchronous(const ScheduleChoice& schedule) {
  return schedule.name == "pipedream" || schedule.name == "pipedream-2bw" || schedule.name == "1f1b-star";
}

Figures claimed_figures(const Plan& plan, Seconds largest_stage_time, std::int64_t replicas) {
  Figures figures;
  if (is_asynchronous(plan.schedule)) {
    figures.period = largest_stage_time / static_cast<double>(replicas);
    return figures;
  }
  const std::int64_t rounds = (plan.microbatches + replicas - 1) / replicas;
  const auto stages = static_cast<std::int64_t>(plan.stages.size());
  figures.iteration_time = largest_stage_time * static_cast<double>(rounds + stages - 1);
  return figures;
}

}  // namespace stagecraft
