#include "sim/schedule/ring_buckets.hpp"

#include "sim/model/plan.hpp"

#include <algorithm>
#include <functional>

namespace stagecraft {

std::vector<GradientBucket> RingBuckets::of(StageId stage) const {
  std::vector<GradientBucket> buckets;
  for (const auto& [ring, bucket] : by_stage[stage.value()]) buckets.push_back(by_ring[ring][bucket]);
  return buckets;
}

RingBuckets ring_buckets(const LayerGraph& graph, const Plan& plan, const Replicas& replicas) {
  RingBuckets buckets;
  for (const GradientRing& ring : replicas.rings()) {
    const bool is_alone = ring.members.size() == 1;
    buckets.by_ring.push_back(is_alone ? std::vector<GradientBucket>{}
                                       : gradient_buckets(graph, ring.layers, plan.training.bucket()));
  }
  for (StageId stage : indices<StageId>(plan.stages.size())) {
    std::vector<RingBucket>& completed = buckets.by_stage.emplace_back();
    for (std::size_t ring : replicas.rings_of(stage)) {
      for (std::size_t k = 0; k < buckets.by_ring[ring].size(); ++k) completed.push_back({ring, k});
    }
    if (replicas.rings_of(stage).size() == 1) continue;
    const std::vector<LayerId>& layers = plan.stages[stage.value()].layers;
    std::ranges::sort(completed, std::greater<>(), [&](const RingBucket& each) {
      return std::ranges::find(layers, buckets.by_ring[each.ring][each.bucket].completed_by);
    });
  }
  return buckets;
}

}  // namespace stagecraft
