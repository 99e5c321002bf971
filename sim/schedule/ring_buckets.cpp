#include "sim/schedule/ring_buckets.hpp"

#include "sim/model/plan.hpp"
#include "sim/model/reduced_gradients.hpp"
#include "sim/schedule/tied_stages.hpp"

#include <algorithm>
#include <functional>

namespace stagecraft {
namespace {

/// The first of the stage's layers that have a part of the ring's parameters; with buckets of no size, of all.
LayerId completion(const LayerGraph& graph, const Plan& plan, const Stage& stage, const TiedRing& ring) {
  if (plan.training.bucket() == Bytes(0)) return stage.layers.front();
  const auto has_a_part = [&](LayerId id) {
    return std::ranges::any_of(
        ring.groups, [&](std::size_t group) { return std::ranges::binary_search(graph.tied[group].layers, id); });
  };
  return *std::ranges::find_if(stage.layers, has_a_part);
}

void add_tied(const LayerGraph& graph, const Plan& plan, const TiedRing& ring, bool is_alone, RingBuckets& buckets) {
  for (const StageId stage : ring.stages) {
    buckets.rings_of[stage.value()].push_back(buckets.rings.size());
    const LayerId completed_by = completion(graph, plan, plan.stages[stage.value()], ring);
    if (!is_alone) buckets.by_stage[stage.value()].push_back({buckets.rings.size(), 0, completed_by});
  }
  RingBuckets::Ring& added = buckets.rings.emplace_back(RingBuckets::Ring{ring.members, {}, ring.apart, {}});
  if (!is_alone) added.buckets.push_back({reduced_gradients(plan.training, ring.bytes), LayerId::none()});
}

/// What a ring exchanges of each layer.
struct Exchanged {
  std::vector<Bytes> all;
  std::vector<Bytes> experts;  ///< the part of it that is in rings of experts; empty: these are no rings of their own
};

/// Nothing of what one device alone has. A device that stands for a group has what several do.
Exchanged without_single(const std::vector<Bytes>& parameters, const LayerGraph& graph, const GradientRing& ring,
                         const Replicas& replicas) {
  const std::size_t members = one_on_each_device(replicas, ring.members).size();
  const bool has_plain = members > 1 || graph.copies.plain > 1;
  const bool has_experts = members > 1 || graph.copies.experts > 1;
  const bool is_apart = graph.copies.experts != graph.copies.plain;
  Exchanged exchanged;
  for (std::size_t i = 0; i < ring.layers.size(); ++i) {
    const Bytes of_layer = graph.layers[ring.layers[i]].experts;
    const Bytes experts = has_experts ? of_layer : Bytes(0);
    exchanged.all.push_back(experts + (has_plain ? parameters[i] - of_layer : Bytes(0)));
    if (is_apart) exchanged.experts.push_back(experts);
  }
  return exchanged;
}

/// As many layers to a bucket as the gradients have.
std::vector<WeightBucket> weight_buckets(const LayerGraph& graph, const Training& training, const GradientRing& ring,
                                         const Replicas& replicas) {
  const Bytes gradients = training.bucket();
  const std::int64_t size = std::max<std::int64_t>(1, gradients.value() / reduced_copies(training));
  const Exchanged weights = without_single(exchanged_parameters(graph, ring.layers), graph, ring, replicas);
  std::vector<WeightBucket> buckets;
  for (const auto& [bytes, first, experts] :
       gradient_buckets(weights.all, ring.layers, gradients == Bytes(0) ? gradients : Bytes(size), weights.experts)) {
    buckets.push_back({bytes, first, experts});
  }
  std::ranges::reverse(buckets);
  return buckets;
}

/// Orders the buckets of a stage's rings by the layers that complete them, the last layer first.
void sort_by_completion(const Stage& stage, std::vector<RingBucket>& buckets) {
  std::ranges::stable_sort(buckets, std::greater<>(),
                           [&](const RingBucket& each) { return std::ranges::find(stage.layers, each.completed_by); });
}

}  // namespace

StageBuckets RingBuckets::of(StageId stage) const {
  StageBuckets buckets{{}, weights_of(stage)};
  for (const auto& [ring, bucket, completed_by] : by_stage[stage.value()]) {
    buckets.gradients.push_back({rings[ring].buckets[bucket].bytes, completed_by});
  }
  return buckets;
}

RingBuckets ring_buckets(const LayerGraph& graph, const Plan& plan, const Replicas& replicas,
                         const std::vector<TiedRing>& tied) {
  const std::vector<std::size_t> elsewhere = groups_of(tied);
  RingBuckets buckets;
  for (const GradientRing& ring : replicas.rings()) {
    const std::int64_t apart = replicas[ring.members.front()].turns * plan.rounds_per_update;
    RingBuckets::Ring& added =
        buckets.rings.emplace_back(RingBuckets::Ring{one_on_each_device(replicas, ring.members), {}, apart, {}});
    const Exchanged exchanged =
        without_single(exchanged_parameters(graph, ring.layers, elsewhere), graph, ring, replicas);
    added.buckets = gradient_buckets(reduced_gradients(plan.training, exchanged.all), ring.layers,
                                     plan.training.bucket(), reduced_gradients(plan.training, exchanged.experts));
    if (plan.training.zero > 0) added.weights = weight_buckets(graph, plan.training, ring, replicas);
  }
  buckets.untied = buckets.rings.size();
  for (StageId stage : indices<StageId>(plan.stages.size())) {
    buckets.rings_of.push_back(replicas.rings_of(stage));
    std::vector<RingBucket>& completed = buckets.by_stage.emplace_back();
    for (std::size_t ring : replicas.rings_of(stage)) {
      const std::vector<GradientBucket>& own = buckets.rings[ring].buckets;
      for (std::size_t k = 0; k < own.size(); ++k) completed.push_back({ring, k, own[k].completed_by});
    }
  }
  for (const TiedRing& ring : tied) {
    add_tied(graph, plan, ring, in_ring(replicas, ring.members.size()) == 1, buckets);
  }
  for (StageId stage : indices<StageId>(plan.stages.size())) {
    if (buckets.rings_of[stage.value()].size() == 1) continue;
    sort_by_completion(plan.stages[stage.value()], buckets.by_stage[stage.value()]);
  }
  return buckets;
}

}  // namespace stagecraft
