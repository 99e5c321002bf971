#pragma once

#include "sim/model/layer_graph.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

struct BackwardStep;

/// Gradients of consecutive layers that replicas exchange together.
struct GradientBucket {
  Bytes bytes;
  LayerId completed_by;  ///< the last of the layers to run its backward
  Bytes experts = {};    ///< the part of `bytes` that a ring of their own exchanges
  friend bool operator==(const GradientBucket&, const GradientBucket&) = default;
};

/// Weights of consecutive layers that replicas gather together.
struct WeightBucket {
  Bytes bytes;
  LayerId needed_by;   ///< the first of the layers to run its forward
  Bytes experts = {};  ///< likewise
  friend bool operator==(const WeightBucket&, const WeightBucket&) = default;
};

/// Where the passes of a stage end a step, because replicas exchange what it has made or needs.
struct StageBuckets {
  std::vector<GradientBucket> gradients = {};  ///< in the order of the backward
  std::vector<WeightBucket> weights = {};      ///< in the order of the forward
};

/// Fills buckets from the last layer to the first. A bucket is closed before the layer that would make it larger than
/// `size`; so a layer that is larger is a bucket of its own, which is not divided. With size 0 there is one bucket,
/// which the whole backward completes. None if nothing is exchanged.
/// **Shape** `exchanged` and `experts`: the bytes of each layer, and their part in rings of experts; empty: none.
[[nodiscard]] std::vector<GradientBucket> gradient_buckets(const std::vector<Bytes>& exchanged,
                                                           const std::vector<LayerId>& layers, Bytes size,
                                                           const std::vector<Bytes>& experts = {});

/// The bytes that a ring all-reduce of `replicas` sends between each pair of neighbours.
[[nodiscard]] inline Bytes ring_bytes(Bytes parameters, std::int64_t replicas) {
  return share_up(parameters, 2 * (replicas - 1), replicas);
}
/// The same of buckets, one after the other. Together they are as many as those of one all-reduce.
[[nodiscard]] std::vector<Bytes> ring_bytes(const std::vector<Bytes>& buckets, std::int64_t replicas);
/// The bytes of each bucket, of gradients or of weights.
template <class Bucket>
[[nodiscard]] std::vector<Bytes> sizes_of(const std::vector<Bucket>& buckets) {
  std::vector<Bytes> sizes;
  for (const Bucket& bucket : buckets) sizes.push_back(bucket.bytes);
  return sizes;
}

/// How long the exchange of the buckets lasts beyond the end of a backward. An all-reduce, of `all_reduces[k]` for
/// bucket k, starts when the bucket is complete and the all-reduce before it has ended.
/// **Requires** the steps of `stage_program` with these buckets.
[[nodiscard]] Seconds exposed_all_reduce(const std::vector<BackwardStep>& steps,
                                         const std::vector<Seconds>& all_reduces);

}  // namespace stagecraft
