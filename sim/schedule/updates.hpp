#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// The updates of a stage's weights.
struct StageUpdates {
  std::int64_t samples = 1;    ///< whose gradients one update sums up; 0: no weights, while other stages have some
  std::int64_t staleness = 0;  ///< the most updates between a microbatch's forward and the update with its gradients
  friend bool operator==(const StageUpdates&, const StageUpdates&) = default;
};

/// By stage. A flushed schedule updates every stage once an iteration, so nothing is stale. An asynchronous one updates
/// a stage after each round of its replicas' turns, or after `Plan::rounds_per_update` of them. A forward does not wait
/// for an all-reduce that is under way, so the update after it counts as later than the forward. A stage without
/// parameters has no weights to update, and nothing there is stale. Tied parameters count where the first stage with
/// them is; later stages get their gradients of the first one's backwards.
[[nodiscard]] std::vector<StageUpdates> stage_updates(const LayerGraph& graph, const ScheduleProgram& program);

/// The samples of an update, and the staleness, of the stage where each is largest.
[[nodiscard]] StageUpdates largest(const std::vector<StageUpdates>& updates);

/// The samples of an update of the stage that has the fewest, of those with weights.
[[nodiscard]] std::int64_t fewest_samples(const std::vector<StageUpdates>& updates);

}  // namespace stagecraft
