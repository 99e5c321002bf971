#pragma once

#include "planners/pipedream/changing_stage.hpp"
#include "planners/pipedream/recurrence.hpp"
#include "planners/planner.hpp"

#include <cstdint>
#include <optional>

namespace stagecraft::pipedream {

/// The memory test of the original program: ceil(devices downstream / replicas) versions of the weights and the stash.
/// For the last stage of a level that is zero, so it always passes, and so does pure data parallelism.
[[nodiscard]] MemoryTest original_memory_test(Bytes limit);

/// What all stages of a plan do to need less memory.
struct MemoryChoices {
  bool recompute = false;                       ///< every stage runs its forward again before its backward
  std::optional<std::int64_t> weight_versions;  ///< the most that a stage keeps
  std::optional<std::int64_t> in_flight;        ///< the most microbatches in flight on a replica
  std::int64_t rounds_per_update = 1;           ///< as far as they are known before the plan
};
/// **Requires** a stage with all its layers.
void apply(const MemoryChoices& choices, Stage& stage);

/// The shared memory ledger for a stage of the request's schedule, on a device with the smallest capacity. With a cap
/// on microbatches in flight it does not know how much the caps of earlier stages lower the stage's own number, so it
/// may refuse a stage that would fit.
/// With `Consumers::Every` each stage has buffers for what replicas divide, also one without replicas.
/// Entries of pairs of states that are no stage are 0. **Cost** O(states² · layers / 64), and as
/// `ChangingStage::become` for what one state differs from the next.
[[nodiscard]] MemoryTest ledger_memory_test(const PlanRequest& request, const DownSets& states,
                                            const MemoryChoices& choices, Consumers consumers);
/// What `ledger_memory_test` counts for `max_work`: a step for each layer and edge of each pair of states. It takes far
/// fewer where states differ little from the next.
[[nodiscard]] double ledger_test_work(const PlanRequest& request, std::size_t state_count);
inline constexpr double kLedgerStepTime = 4.0;  ///< nanoseconds, about

}  // namespace stagecraft::pipedream
