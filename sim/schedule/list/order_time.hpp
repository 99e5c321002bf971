#pragma once

#include "sim/model/schedule.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/list/pipeline_work.hpp"

#include <cstdint>

namespace stagecraft {

/// The time of a synchronous iteration of the plan's first `microbatches` in which each device keeps its order:
/// forwards and backwards, the all-reduces after them and the updates, without contention. It is what an evaluation
/// gives where the plan swaps nothing and its memory actions cover all microbatches.
/// **Requires** the work of `pipeline_work` with updates, and strict orders that do not deadlock.
/// **Cost** O(operations · stages of a device).
[[nodiscard]] Seconds order_time(const KeptPlan& kept, const PipelineWork& work, const Schedule& schedule,
                                 std::int64_t microbatches);

}  // namespace stagecraft
