#pragma once

#include "planners/pipedream/recurrence.hpp"
#include "planners/planner.hpp"

namespace stagecraft::pipedream {

/// The original's: ceil(devices downstream / replicas) versions of the weights and the stash, so that the last stage of
/// a level is never tested with anything and pure data parallelism always fits.
[[nodiscard]] MemoryTest original_memory_test(Bytes limit);

/// Tensors that several later stages need are buffered once for each of them; how many there will be is not known while
/// the stage is chosen.
enum class Consumers {
  One,    ///< at least one: never refuses a stage that would fit
  Every,  ///< as many as there are edges: never accepts one that would not
};

/// The shared ledger (contract, section 5) for a stage of the request's schedule, on a device with the smallest
/// capacity.
/// **Cost** O(states² · (layers + edges)).
[[nodiscard]] MemoryTest ledger_memory_test(const PlanRequest& request, const DownSets& states, Consumers consumers);
[[nodiscard]] double ledger_test_work(const PlanRequest& request, std::size_t state_count);

}  // namespace stagecraft::pipedream
