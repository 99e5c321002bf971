#pragma once

#include "planners/planner.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"

namespace stagecraft {

struct Plan;

/// Chooses the order of turns of each stage's replicas so that tensors stay near: the time of all exchanges between
/// stages, each at the narrowest link of its route, is made small. Microbatch j goes to replica j mod r of each stage,
/// and of stages that divide microbatches those replicas exchange that share samples; neither the layers nor the
/// devices of a stage change. `Stage::ring` keeps the order of the all-reduce. If no order takes less time than that
/// of the plan, the plan stays as it is. Returns whether it has changed.
///
/// The choice is made stage after stage, each time the best one (an assignment of devices to turns) for the orders of
/// its neighbours, ties by device number. It starts from several orders (those of the plan, devices in turn from each
/// node, increasing devices) and goes on until no stage alone can do better. That is the least time of all if every
/// stage exchanges with one earlier stage at most and of each two such stages one has a multiple of the other's
/// replicas.
/// **Requires** a plan that covers the graph.
/// **Cost** for stages of r and q replicas O(r · q) routes, and as much again for each round of choices; in all about
/// 2 s for two stages with 2,048 replicas each. Pairs of stages with more than that are ignored.
bool order_turns(const LayerGraph& graph, const Platform& platform, Plan& plan);

/// The plan with that order of turns, and its peaks of memory; as it was if it would then not fit any more, or if the
/// schedule refuses it then, as where stages of one device have turns in different orders.
[[nodiscard]] Planned with_ordered_turns(const PlanRequest& request, Planned planned);

}  // namespace stagecraft
