#include "sim/schedule/gather_units.hpp"

#include "sim/model/plan.hpp"

namespace stagecraft {

std::vector<Seconds> forward_parts(const LayerGraph& graph, const Stage& stage,
                                   const std::vector<WeightBucket>& weights) {
  std::vector<Seconds> parts(weights.size());
  std::size_t next = 0;  // bucket
  for (const LayerId id : stage.layers) {
    while (next < weights.size() && weights[next].needed_by == id) ++next;
    if (!parts.empty()) parts[next == 0 ? 0 : next - 1] += graph.layers[id].forward;
  }
  return parts;
}

std::vector<GatherUnit> forward_units(std::size_t buckets) {
  std::vector<GatherUnit> units;
  for (std::size_t at = 0; at < buckets; ++at) units.push_back({at, at + 1, at, at + 1});
  return units;
}

std::vector<GatherUnit> gather_units(const std::vector<BackwardStep>& steps, std::size_t buckets) {
  std::vector<GatherUnit> units;
  std::size_t missing = buckets;  // the buckets before it
  for (std::size_t at = 0; at < steps.size(); ++at) {
    if (units.empty() || steps[at].weights < missing) {
      units.push_back({at, at, steps[at].weights, missing});
      missing = steps[at].weights;
    }
    units.back().end_step = at + 1;
  }
  return units;
}

}  // namespace stagecraft
