#pragma once

#include "sim/base/index.hpp"
#include "sim/schedule/pipeline_times.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft {

/// Two stages of which the second one waits for the first one's forwards, and the first one for the second one's
/// backwards.
struct Crossing {
  StageId from;
  StageId to;
  /// For each replica of `from`, for each replica of `to`: the time from the end of the one to the arrival at the
  /// other.
  std::vector<BlockTimes> times;
};

/// The times of a plan's work, as `evaluate` gives them on the platform's network without exclusive links.
struct PipelineWork {
  IndexVector<ReplicaId, BlockTimes> computations;  ///< of one microbatch
  /// The boundaries of the plan, and those between consecutive stages that exchange nothing.
  std::vector<Crossing> crossings;
};

/// **Throws** InputError for a device of unknown speed. **Cost** O(layers + edges + pairs of replicas that exchange
/// tensors).
[[nodiscard]] PipelineWork pipeline_work(const PlanContext& context);

}  // namespace stagecraft
