#pragma once

#include "planners/pipedream/recurrence.hpp"
#include "planners/planner.hpp"

namespace stagecraft::pipedream {

/// The memory test of the original program: ceil(devices downstream / replicas) versions of the weights and the stash.
/// For the last stage of a level that is zero, so it always passes, and so does pure data parallelism.
[[nodiscard]] MemoryTest original_memory_test(Bytes limit);

/// How to count tensors that several later stages need. Each of these stages needs a buffer for the tensor, but their
/// number is not known while the stage is chosen.
enum class Consumers {
  One,    ///< one stage, the least possible: never refuses a stage that would fit
  Every,  ///< one stage for each edge, the most possible: never accepts a stage that would not fit
};

/// The shared memory ledger for a stage of the request's schedule, on a device with the smallest capacity.
/// **Cost** O(states² · (layers + edges)).
[[nodiscard]] MemoryTest ledger_memory_test(const PlanRequest& request, const DownSets& states, Consumers consumers);
/// The number of steps that `ledger_memory_test` takes.
[[nodiscard]] double ledger_test_work(const PlanRequest& request, std::size_t state_count);

}  // namespace stagecraft::pipedream
