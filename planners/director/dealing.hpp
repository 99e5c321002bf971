#pragma once

#include "planners/director/draft.hpp"
#include "planners/director/node_program.hpp"
#include "sim/base/index.hpp"

#include <vector>

namespace stagecraft::director {

/// The first device of each node, then the second of each, and so on.
[[nodiscard]] std::vector<DeviceId> in_turn(const std::vector<std::vector<DeviceId>>& nodes);

/// Gives stages their devices: segments go whole into nodes, the largest first, each into the one that has the fewest
/// devices left of those with enough; stages that are spread, and segments that no node has room for, then take what is
/// left, in order. **Requires** as many devices as the stages want.
[[nodiscard]] std::vector<Piece> dealt(const std::vector<std::vector<DeviceId>>& nodes,
                                       const std::vector<NodeStage>& stages);

}  // namespace stagecraft::director
