#pragma once

#include "sim/model/given_orders.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"

#include <string>
#include <vector>

namespace stagecraft {

struct Plan;

/// Checks that a literal schedule is a valid order of the plan's work. Returns a sentence for the user for each
/// problem: first those of the devices' orders as they are, then what they lack, then those of the channels.
///
/// In a valid schedule every replica runs one forward and one backward (whole, or an input half and then a weight half)
/// of each of its microbatches and nothing else, within the caps on microbatches in flight. A pair is a forward and a
/// backward. Sends and receives are listed exactly if the rule of transfers wants them. Strict channels list every
/// transfer once. Deadlocks are not found here but by `lower`. With `steps`, sentences name ranks and steps too.
/// **Requires** a plan without violations, and channels of one boundary each. **Cost** O(actions · log actions + stages
/// · devices).
[[nodiscard]] std::vector<std::string> check_schedule(const LayerGraph& graph, const Platform& platform,
                                                      const Plan& plan, const Schedule& schedule,
                                                      const OrderSteps& steps = {});

}  // namespace stagecraft
