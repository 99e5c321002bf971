#include "planners/shared/cuts/balanced_cuts.hpp"

#include "planners/planner.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/work.hpp"
#include "sim/base/error.hpp"
#include "sim/model/graph_order.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace stagecraft {

namespace {

std::vector<Stage> stages_by(BalancedCuts& table, const LayerGraph& graph, const Platform& platform,
                             const std::vector<std::vector<DeviceId>>& runs) {
  const std::vector<LayerId> order = canonical_order(graph);
  std::vector<double> factors;
  for (const std::vector<DeviceId>& run : runs) factors.push_back(slowest_factor(graph, platform, run));
  const std::vector<std::size_t> first = table.cuts(factors);
  std::vector<Stage> stages(runs.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const std::size_t end = s + 1 < stages.size() ? first[s + 1] : order.size();
    stages[s].layers = layers_in(order, first[s], end);
    stages[s].replicas = groups_of_one(runs[s]);
  }
  return stages;
}

}  // namespace

std::vector<std::size_t> BalancedCuts::cuts(const std::vector<double>& factors) {
  const std::size_t items = prefix_.size() - 1;
  const std::size_t pieces = factors.size();
  STAGECRAFT_CHECK(pieces > 0 && pieces <= items, "at least one item for each piece");
  const std::size_t common = std::min(pieces, factors_.size());
  const bool begin_alike =
      std::equal(factors.begin(), factors.begin() + static_cast<std::ptrdiff_t>(common), factors_.begin());
  if (begin_alike && pieces <= factors_.size()) return table_.cuts(pieces);
  require_affordable(
      {.what = "the table of " + std::to_string(items) + " layers in " + std::to_string(pieces) + " stages",
       .bytes = sizeof(std::uint32_t) * static_cast<double>(items) * static_cast<double>(pieces),
       .remedy = "plan fewer stages, or use a model with blocks in place of layers"});
  if (!begin_alike) table_ = BottleneckTable(items);
  factors_ = factors;
  table_.extend(pieces, [&](std::size_t p, std::size_t begin, std::size_t end) {
    return factors_[p] * (prefix_[end] - prefix_[begin]);
  });
  return table_.cuts(pieces);
}

BalancedCuts stage_cuts(const LayerGraph& graph, bool recomputes) {
  const std::vector<LayerId> order = canonical_order(graph);
  std::vector<double> prefix(order.size() + 1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Layer& layer = graph.layers[order[i]];
    const Seconds again = recomputes ? layer.forward : Seconds(0);
    prefix[i + 1] = prefix[i] + (layer.forward + layer.backward + again).value();
  }
  return BalancedCuts(std::move(prefix));
}

std::size_t pipeline_stages(const Placement& placement) {
  std::map<std::uint32_t, std::size_t> stages;
  std::size_t most = 0;
  for (const Chunk& chunk : placement) most = std::max(most, ++stages[chunk.pipeline]);
  return most;
}

Placement largest_placement(const ScheduleChoice& schedule, std::size_t devices, std::size_t stages) {
  const ScheduleFamily& family = require_family(schedule.name);
  const Options parameters = schedule_parameters(schedule);
  for (std::size_t count = std::min(devices, stages); count > 0; --count) {
    if (family.even_devices && count % 2 != 0) continue;
    Placement placement = family.placement(count, parameters);
    if (pipeline_stages(placement) <= stages) return placement;
  }
  return {};
}

std::vector<Stage> placed_stages(const LayerGraph& graph, const Platform& platform, const Placement& placement,
                                 const std::vector<std::vector<DeviceId>>& runs, BalancedCuts& table) {
  std::map<std::uint32_t, std::vector<std::size_t>> stages_of;  // by pipeline: positions in the placement
  for (std::size_t s = 0; s < placement.size(); ++s) stages_of[placement[s].pipeline].push_back(s);
  std::vector<Stage> stages(placement.size());
  for (const auto& [pipeline, places] : stages_of) {
    std::vector<std::vector<DeviceId>> own;
    for (std::size_t place : places) own.push_back(runs[placement[place].device]);
    std::vector<Stage> cut = stages_by(table, graph, platform, own);
    for (std::size_t i = 0; i < places.size(); ++i) {
      cut[i].pipeline = pipeline;
      stages[places[i]] = std::move(cut[i]);
    }
  }
  return stages;
}

}  // namespace stagecraft
