#pragma once

#include "sim/model/plan.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace stagecraft {

/// By stage: forwards that a replica runs before its first backward in 1F1B, ⌊(ranks from this stage on - 1) / own⌋, as
/// PipeDream's runtime counts them; p - 1 - i without replication. Eager 1F1B runs `eagerness` times as many. Caps
/// (`Stage::in_flight`) lower it, downstream too.
/// **Cost** O(stages).
[[nodiscard]] std::vector<std::int64_t> warmups(const Plan& plan, std::int64_t eagerness = 1);

/// What the families share in which every replica runs its warm-up forwards, then forward and backward in turn, then
/// the remaining backwards: orders, by rounds where stages share a device, min(warm-up + 1, the replica's microbatches)
/// in flight, one weight version. They differ in the warm-up and in what happens at the end of an iteration.
[[nodiscard]] ScheduleProgram one_f_one_b_program(const PlanContext& context, bool synchronous, std::int64_t eagerness);

}  // namespace stagecraft
