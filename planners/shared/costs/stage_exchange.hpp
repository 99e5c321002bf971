#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/gradient_buckets.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

/// What the replicas of a stage exchange where they divide the optimizer's state (`Training::zero`), beside what they
/// do in any case (`ring_beyond_backward`).
namespace stagecraft {

struct Stage;
struct Training;

/// The buckets of a stage's gradients, without the tied parameters `elsewhere`, which other rings exchange.
[[nodiscard]] std::vector<GradientBucket> summed_buckets(const LayerGraph& graph, const Training& training,
                                                         const std::vector<LayerId>& layers,
                                                         const std::vector<std::size_t>& elsewhere = {});

/// The part of a bucket's bytes that is gradients of experts.
[[nodiscard]] inline double expert_part(const GradientBucket& bucket) {
  return static_cast<double>(bucket.experts.value()) / static_cast<double>(std::max(bucket.bytes, Bytes(1)).value());
}

/// The same of all parameters of a model.
[[nodiscard]] double expert_part(const LayerGraph& graph);

/// The part of the all-gather of a stage's weights that does not run under a forward: all of it, or with buckets what
/// it takes longer than the slowest replica's forward. That a later stage begins its first forward later is left out.
/// 0 where nothing is divided. **Throws** InputError as `ring_beyond_backward`.
[[nodiscard]] Seconds gather_beyond_forward(const LayerGraph& graph, const Platform& platform, const Training& training,
                                            const Stage& stage);

/// What the replicas of a stage exchange for every microbatch.
struct ExchangesEachTime {
  Seconds all;      ///< one after the other: the least time from one microbatch to the next
  Seconds exposed;  ///< what computing cannot hide, even if it takes longer
};

/// Where replicas divide gradients, their reduce-scatters; where they divide weights, also two all-gathers of these, of
/// which that of the first bucket for a forward, and the reduce-scatter of the same bucket, are exposed.
/// **Throws** InputError as `ring_beyond_backward`.
[[nodiscard]] ExchangesEachTime exchanges_each_time(const LayerGraph& graph, const Platform& platform,
                                                    const Training& training, const Stage& stage,
                                                    const std::vector<std::size_t>& elsewhere = {});

/// What each replica of a stage with these layers keeps whole for a while of what replicas divide: the largest bucket
/// of gradients twice, at most all of them, and of weights.
[[nodiscard]] Bytes divided_buffers(const LayerGraph& graph, const Training& training,
                                    const std::vector<LayerId>& layers);

}  // namespace stagecraft
