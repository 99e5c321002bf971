#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/schedule.hpp"

namespace stagecraft {

struct Plan;

/// The same computations with another rule for transfers: the sends and receives of the orders are left out where the
/// rule lists none, and added where it lists them and the orders have none.
///
/// They are added as `torch.distributed.pipelining` adds them (`_add_send_recv`): the devices take turns, in the order
/// of their first stages, with one computation each, or with what PyTorch does to the parameters of a stage; a send
/// follows its computation at once, and at that moment the receive is entered at the receiver. So all devices keep one
/// sequence of transfers, and where each tensor goes to the next stage only, none waits for another in a circle.
///
/// **Requires** orders of one iteration that fit the plan.
/// **Throws** InputError if transfers cannot be added: to orders by priority or of channels, for stages that divide
/// their microbatches, and to computations that wait for each other in a circle.
/// **Cost** O(actions · (boundaries of a stage + log actions)).
[[nodiscard]] Schedule with_transfers(const LayerGraph& graph, const Plan& plan, Schedule schedule, Transfers rule);

}  // namespace stagecraft
