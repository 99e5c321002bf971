#pragma once

#include "sim/model/platform.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {

/// The ends of transfers that run at the same time: from where, and to where.
using JointWays = std::vector<std::pair<PlaceId, PlaceId>>;

/// The link that each of several transfers of equally many bytes seems to have to itself: of the least bandwidth that
/// a link leaves to each of those that cross it, and of the longest latency. Of both directions the slower one. A
/// single transfer has the smallest bandwidth and the whole latency of its way.
/// **Returns** none if two ends are not connected. **Cost** O(links on the ways · log).
[[nodiscard]] std::optional<LinkSpec> joint_link(const Platform& platform, const JointWays& ways);

}  // namespace stagecraft
