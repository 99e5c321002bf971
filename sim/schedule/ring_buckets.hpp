#pragma once

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
  };

  std::vector<Ring> rings;                         ///< those of `Replicas::rings`, then those of tied parameters
  std::size_t untied = 0;                          ///< the number of the former
  std::vector<std::vector<std::size_t>> rings_of;  ///< by stage, increasing
  /// By stage: the buckets of all its rings, in the order in which its backward completes them.
  std::vector<std::vector<RingBucket>> by_stage;

  /// The buckets of `by_stage` themselves.
  [[nodiscard]] std::vector<GradientBucket> of(StageId stage) const;
};

/// `tied`: the plan's `tied_rings`. **Cost** O(layers log layers).
[[nodiscard]] RingBuckets ring_buckets(const LayerGraph& graph, const Plan& plan, const Replicas& replicas,
                                       const std::vector<TiedRing>& tied);

}  // namespace stagecraft
