#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/schedule.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// What keeps a literal schedule from being an order of the plan's work, as sentences for the user: first the devices'
/// orders as they stand, then what they lack, then the channels.
///
/// Every replica runs one forward and one backward (whole, or an input half and then a weight half) of each of its
/// microbatches and nothing else, within the caps on microbatches in flight; pairs are of a forward and a backward;
/// sends and receives are listed exactly where transfers are explicit; strict channels list every transfer once.
/// Orders that can never be carried out are found by `lower`.
/// **Requires** a plan without violations, and channels of one boundary each. **Cost** O(actions · log actions + stages
/// · devices).
[[nodiscard]] std::vector<std::string> check_schedule(const LayerGraph& graph, const Platform& platform,
                                                      const Plan& plan, const Schedule& schedule);

}  // namespace stagecraft
