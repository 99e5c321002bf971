#pragma once

#include "sim/schedule/lowering/plan_run.hpp"

namespace stagecraft {

/// Moves what training needs from one plan's devices to the next one's, once the plan before has drained: stop, copy,
/// go on. Every microbatch runs wholly under one plan, so
/// - each layer has one forward and one backward of each microbatch;
/// - a backward uses the weights of its forward, which stay until the stage is done;
/// - a layer's updates have one writer at a time: the new holder starts from what the old one ended with;
/// - no forward uses older weights than it would have without the switch, since all earlier updates have been made.
///
/// A device first makes room for what it will hold in addition, takes the copies of layers that it did not hold
/// (weights and optimizer state), then starts; the old holder's bytes are freed when they have left.
/// **Requires** that `before` is wholly lowered and nothing of `after` is.
void hand_over(PlanRun& before, PlanRun& after, std::int64_t first_microbatch);

}  // namespace stagecraft
