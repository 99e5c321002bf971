#pragma once

#include "sim/model/exchange.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/gradient_buckets.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft {

struct Plan;
struct TiedRing;

/// A bucket of a ring's gradients.
struct RingBucket {
  std::size_t ring = 0;    ///< position in `RingBuckets::rings`
  std::size_t bucket = 0;  ///< position among the ring's buckets
  LayerId completed_by;    ///< the last of the stage's layers with a part of it to run its backward
};

/// The rings of a plan that exchange gradients, and the buckets in which they do.
struct RingBuckets {
  struct Ring {
    std::vector<ReplicaId> members;       ///< on different devices, in the order of the all-reduce
    std::vector<GradientBucket> buckets;  ///< none for a device alone
    std::int64_t apart = 1;               ///< asynchronous: the microbatches between two all-reduces
    /// Where replicas divide the optimizer's state, the weights of which each changes a part: the same buckets in the
    /// order of a forward, with tied parameters. None for rings of tied parameters.
    std::vector<WeightBucket> weights = {};
  };

  std::vector<Ring> rings;                         ///< those of `Replicas::rings`, then those of tied parameters
  std::size_t untied = 0;                          ///< the number of the former
  std::vector<std::vector<std::size_t>> rings_of;  ///< by stage, increasing
  /// By stage: the buckets of all its rings, in the order in which its backward completes them.
  std::vector<std::vector<RingBucket>> by_stage;

  /// What replicas of the stage gather, which they do in one ring.
  [[nodiscard]] const std::vector<WeightBucket>& weights_of(StageId stage) const {
    return rings[rings_of[stage.value()].front()].weights;
  }
  /// The buckets of `by_stage` themselves, and the weights that replicas of the stage gather.
  [[nodiscard]] StageBuckets of(StageId stage) const;
};

/// How the members of a ring exchange gradients: those that gather weights afterwards keep their parts of the sum.
[[nodiscard]] inline Exchange::Kind gradient_exchange(const RingBuckets::Ring& ring) {
  return ring.weights.empty() ? Exchange::Kind::AllReduce : Exchange::Kind::ReduceScatter;
}

/// `tied`: the plan's `tied_rings`. **Cost** O(layers log layers).
[[nodiscard]] RingBuckets ring_buckets(const LayerGraph& graph, const Plan& plan, const Replicas& replicas,
                                       const std::vector<TiedRing>& tied);

}  // namespace stagecraft
