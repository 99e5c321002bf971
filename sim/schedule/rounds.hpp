#pragma once

#include "sim/model/schedule.hpp"
#include "sim/schedule/kept_plan.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// Device orders of a plan whose devices hold several stages, found by a run in which every operation takes one round.
/// In every round each device runs one of its ready operations, backwards first. Ties go to the older microbatch, then
/// to the later stage for backwards and to the earlier stage for forwards. A replica starts a forward only while fewer
/// than `in_flight` (by stage) of its microbatches are in flight. Without flushes a replica's first backward after an
/// update also waits for the backwards before that update on all replicas of its layers. The orders come from a run, so
/// they cannot deadlock. **Cost** O(rounds * stages).
[[nodiscard]] Schedule order_by_rounds(const KeptPlan& kept, const std::vector<std::int64_t>& in_flight,
                                       bool synchronous);

}  // namespace stagecraft
