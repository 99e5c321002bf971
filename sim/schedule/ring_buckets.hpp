#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/gradient_buckets.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft {

struct Plan;

/// A bucket of a ring's gradients.
struct RingBucket {
  std::size_t ring = 0;    ///< position in `Replicas::rings`
  std::size_t bucket = 0;  ///< position among the ring's buckets
};

/// The buckets in which the rings of a plan exchange gradients.
struct RingBuckets {
  std::vector<std::vector<GradientBucket>> by_ring;  ///< none for a replica alone
  /// By stage: the buckets of all its rings, in the order in which its backward completes them.
  std::vector<std::vector<RingBucket>> by_stage;

  /// The buckets of `by_stage` themselves.
  [[nodiscard]] std::vector<GradientBucket> of(StageId stage) const;
};

/// **Cost** O(layers log layers).
[[nodiscard]] RingBuckets ring_buckets(const LayerGraph& graph, const Plan& plan, const Replicas& replicas);

}  // namespace stagecraft
