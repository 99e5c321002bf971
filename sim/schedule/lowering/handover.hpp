#pragma once

#include "sim/schedule/lowering/plan_run.hpp"
#include "sim/schedule/lowering/resumption.hpp"

namespace stagecraft {

/// Begins a run: appends the operation that takes the memory which its first plan keeps.
void begin_with(PlanRun& first);

/// Hands a run over from one plan to the next. The plan before has stopped at a microbatch and drains: its devices
/// finish what they have started. Then weights and optimizer state are copied to the devices that need them, and the
/// next plan starts. Every microbatch runs wholly under one plan, so
/// - each layer has one forward and one backward of each microbatch;
/// - a backward uses the weights of its forward, which stay until the stage is done;
/// - a layer's updates have one writer at a time: the new holder starts from what the old one ended with;
/// - no forward uses older weights than it would have without the switch, since all earlier updates have been made.
///
/// No barrier holds all devices. Each device goes on as soon as it can, in these steps:
/// 1. once it is done with the plan before, it takes the additional memory that it will hold;
/// 2. it receives the weights and optimizer state of the layers that it did not hold, each from a device that did; if
///    several did, they share the work (`givers`). A layer that another model has beyond the one before, or with
///    parameters of another size, begins with new ones;
/// 3. it starts the next plan, at once or, if it may lack memory, after the next step; if training starts again, all
///    devices start at once, `restart` after the last is ready;
/// 4. it frees the memory that it no longer needs, once its own layers have been copied to their new devices.
///
/// `drains`: the plan before that one, if no microbatch of `before` has entered the pipeline; else null. Devices that
/// `before` does not use have to be done with it.
/// **Requires** that `before` is wholly lowered and nothing of `after` is.
void hand_over(PlanRun& before, const PlanRun* drains, PlanRun& after, std::int64_t first_microbatch, Seconds restart);

/// Appends the operation with which everything is given up after a failure. If the devices that are left go on with
/// what they hold of the plan before, they take that memory again.
void abandon(const PlanRun& before, const Resumption& resumption, WindowWriter& writer);

/// Goes on with another plan after `abandon`, in the steps 1 to 4, without the plan before and the devices that are
/// lost. State from a checkpoint is on every device without a copy.
void go_on_without(PlanRun& before, PlanRun& after, const Resumption& resumption, Seconds restart);

}  // namespace stagecraft
