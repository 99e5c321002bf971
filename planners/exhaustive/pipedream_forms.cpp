#include "planners/exhaustive/pipedream_forms.hpp"

#include "planners/exhaustive/search.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/model/run_sums.hpp"
#include "sim/schedule/boundaries.hpp"

#include <algorithm>
#include <cstddef>

namespace stagecraft::exhaustive {
namespace {

struct StageCosts {
  Seconds compute;
  Seconds synchronisation;
  double replicas = 1.0;
};

StageCosts costs_of(const PlanRequest& request, const Stage& stage, double factor, BytesPerSecond bandwidth) {
  StageCosts costs;
  for (const LayerId layer : stage.layers) {
    costs.compute += (request.graph.layers[layer].forward + request.graph.layers[layer].backward) * factor;
  }
  costs.replicas = static_cast<double>(stage.replicas.size());
  costs.synchronisation =
      parameters_of(request.graph, stage.layers) / bandwidth * (4.0 * (costs.replicas - 1.0) / costs.replicas);
  return costs;
}

}  // namespace

std::optional<PipedreamForms> pipedream_forms(const PlanRequest& request, const std::vector<Stage>& stages) {
  const std::optional<BytesPerSecond> bandwidth = smallest_pair_bandwidth(request.platform, PairUse::Collective);
  const std::optional<BytesPerSecond> of_boundaries = smallest_pair_bandwidth(request.platform);
  if (!bandwidth || !of_boundaries) return std::nullopt;
  const double factor = slowest_factor(request.graph, request.platform, all_devices(request.platform));
  PipedreamForms forms;
  for (const Stage& stage : stages) {
    const StageCosts costs = costs_of(request, stage, factor, *bandwidth);
    forms.paper = std::max(forms.paper, std::max(costs.compute, costs.synchronisation) / costs.replicas);
    forms.program = std::max(forms.program, (costs.compute + costs.synchronisation) / costs.replicas);
  }
  for (const Boundary& boundary : boundaries(request.graph, plan_of(request, stages))) {
    const Seconds whole = boundary.bytes * 2 / *of_boundaries;
    const auto receivers = static_cast<double>(stages[boundary.to.value()].replicas.size());
    const auto senders = static_cast<double>(stages[boundary.from.value()].replicas.size());
    forms.paper = std::max(forms.paper, whole);
    forms.program = std::max(forms.program, whole / receivers);
    if (boundary.from.value() > 0) forms.program = std::max(forms.program, whole / senders);
  }
  return forms;
}

}  // namespace stagecraft::exhaustive
