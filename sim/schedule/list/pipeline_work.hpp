#pragma once

#include "sim/base/index.hpp"
#include "sim/schedule/list/connections.hpp"
#include "sim/schedule/pipeline_times.hpp"
#include "sim/schedule/ring_buckets.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace stagecraft {

struct PlacedPlan;

/// Two stages of which the second one waits for the first one's forwards, and the first one for the second one's
/// backwards.
struct Crossing {
  StageId from;
  StageId to;
  bool has_tensors = true;  ///< false if they exchange nothing, so that in a run neither waits for the other
  /// For each replica of `from`, for each replica of `to`: that of a forward's tensor in `PipelineWork::ways`, before
  /// that of a backward's.
  std::vector<std::uint32_t> ways;
};

/// A bucket of gradients that a replica's backward completes.
struct CompletedBucket {
  RingBucket bucket;
  Seconds before_end;  ///< of the backward
};

/// How a replica updates its weights.
struct UpdateWork {
  std::vector<CompletedBucket> buckets;  ///< those that it exchanges before an update
  Seconds update;                        ///< the optimizer's step
};

/// The times of the halves of a split backward. Each has an overhead, so they may take longer together than the whole.
struct HalfTimes {
  Seconds input;
  Seconds weight;
};

/// The times of a plan's work, as `evaluate` gives them on the platform's network without exclusive links.
struct PipelineWork {
  IndexVector<ReplicaId, BlockTimes> computations;  ///< of one microbatch
  IndexVector<ReplicaId, HalfTimes> halves;         ///< of its backward, if that is split
  /// The boundaries of the plan, and those between consecutive stages that exchange nothing.
  std::vector<Crossing> crossings;
  std::vector<TensorWay> ways;                 ///< the first two are those of tensors that stay where they are
  std::size_t connections = 0;                 ///< that the ways lead over
  IndexVector<ReplicaId, UpdateWork> updates;  ///< with updates only
  /// With updates only: by ring of `Replicas::rings`, the time of each bucket's all-reduce; none if nothing is
  /// exchanged.
  std::vector<std::vector<Seconds>> all_reduces;

  /// That of a tensor over the crossing, from a replica of one of its stages to one of the other.
  [[nodiscard]] const TensorWay& way(const Replicas& replicas, const Crossing& crossing, ReplicaId sender,
                                     ReplicaId receiver) const {
    const bool backward = replicas[sender].stage == crossing.to;
    if (backward) std::swap(sender, receiver);
    const std::span<const ReplicaId> to = replicas.of(crossing.to);
    const std::size_t row = sender.value() - replicas.of(crossing.from).front().value();
    return ways[crossing.ways[row * to.size() + receiver.value() - to.front().value()] + (backward ? 1 : 0)];
  }
};

/// With or without the updates of the plan and the exchanges before them.
/// **Throws** InputError for a device of unknown speed. **Cost** O(layers + edges + pairs of replicas that exchange
/// tensors + flows of the all-reduces).
[[nodiscard]] PipelineWork pipeline_work(const PlanContext& context, bool with_updates);

/// Work in which each forward takes a second, and tensors and exchanges no time: with backwards of a second a run goes
/// in rounds. The halves of a backward take equally long. Each stage of a pipeline waits for the one before it, each
/// update for all replicas of its layers.
[[nodiscard]] PipelineWork unit_work(const PlacedPlan& placed, Seconds backward = Seconds(1));

}  // namespace stagecraft
