#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>
#include <optional>

namespace stagecraft {

/// What a switch to another plan costs while training goes on (`LiveSwitch`), if nothing but the tensors between the
/// two stages of a move contends: the time by which the copies of the slowest move are late. None if there is no such
/// switch.
/// - Ahead, the stash and the weights of each microbatch in flight are copied. A period that is too short for that
///   delays each of them.
/// - The receiver's next forwards wait for the weights with the updates that they need, and one of them for the
///   optimizer's state.
/// `period`: of a microbatch under the plan before.
/// **Source** a reconstruction: vPipe's paper gives no cost of a migration.
/// **Cost** O(layers · layers that move).
[[nodiscard]] std::optional<Seconds> live_stall(const LayerGraph& graph, const Platform& platform,
                                                const ScheduleProgram& before, const Plan& after, Seconds period);

/// Whether a run goes over to another plan while training goes on (`live_plan`), or has to drain since, for example, a
/// device lacks memory on the way. `run`: the microbatches of the plan before, in whole rounds of turns; `left`: those
/// from then on, if no other plan follows. **Requires** plans whose layers can move (`live_stall`).
[[nodiscard]] bool can_go_live(const LayerGraph& graph, const Platform& platform, Plan before, Plan after,
                               std::int64_t run, std::int64_t left);

}  // namespace stagecraft
