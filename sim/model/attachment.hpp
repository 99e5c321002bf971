#pragma once

#include "sim/model/bandwidths.hpp"
#include "sim/model/platform.hpp"

#include <optional>
#include <vector>

namespace stagecraft {

/// `smallest_bandwidth_both_ways` from few pairs, the same value. Devices of one kind of node that hang on the same
/// switch or router are alike, so two of them in different nodes, or two in one node, stand for all. Which pair is
/// apart is another one where several are.
/// **Returns** none in the explicit form, whose links differ in any way.
/// **Cost** O(devices · log) + O((kinds of nodes · switches of the network with nodes)²), and inside every node that
/// has devices of both lists O((its switches)²).
[[nodiscard]] std::optional<SmallestBandwidth> smallest_bandwidth_by_attachment(const Platform& platform,
                                                                                const std::vector<DeviceId>& a,
                                                                                const std::vector<DeviceId>& b,
                                                                                PairUse use);

}  // namespace stagecraft
