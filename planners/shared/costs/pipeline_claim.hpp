#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

namespace stagecraft {

/// The figures that the shared cost model predicts for a plan in which each stage has devices of its own. For a stage,
/// F and B are its forward and backward on the slowest replica, T = F + B, A is its all-reduce (with buckets of
/// gradients the part that lasts beyond B; `exchange_times`), U its update and r its number of replicas. For a
/// boundary, c is the time of its bytes over the narrowest pair of the two stages' devices, divided by the smaller
/// number of replicas; of stages with as many replicas, over what each has if all send at once (`replica_bandwidth`).
/// With p stages, m microbatches and R rounds for each update,
/// an asynchronous schedule has a period of max(max ((R - 1) T + B + max(F, A) + U) / (R r), max c), the mean where
/// only some rounds have an all-reduce of tied parameters;
/// a synchronous one has an iteration of max(max ⌈m / r⌉ T, m · max c) + (p - 1) max T + max (A + U).
/// Where replicas divide the optimizer's state, A is their reduce-scatter, or the all-reduce of tied parameters if that
/// is longer, with what the all-gather of weights takes beyond a forward (`gather_beyond_forward`), and U is divided by
/// r; where they divide gradients, m / r counts at least the exchanges of a microbatch for T, and where they divide
/// weights T has what computing cannot hide of them (`ExchangesEachTime`).
/// With `split` replicas each microbatch takes F / r and B / r instead, and a round has one microbatch.
/// **Requires** a plan that breaks no rule. **Throws** InputError as `exchange_times`.
[[nodiscard]] Figures pipeline_claim(const LayerGraph& graph, const Platform& platform, const Plan& plan);

/// Of an asynchronous plan: the least period that all-reduces of tied parameters leave to the first stages that have
/// them; 0 if no stages have any in common. **Throws** InputError as `exchange_times`.
[[nodiscard]] Seconds tied_period(const LayerGraph& graph, const Platform& platform, const Plan& plan);

/// The claim if nothing had to be exchanged, A = c = 0: at most `pipeline_claim`, also as rounded, and found without a
/// look at links.
[[nodiscard]] Figures pipeline_claim_without_exchange(const LayerGraph& graph, const Platform& platform,
                                                      const Plan& plan);

}  // namespace stagecraft
