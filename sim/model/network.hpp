#pragma once

#include "sim/model/platform.hpp"

#include <cstdint>

namespace stagecraft {

/// Links between `node_count` nodes, both directions of a full-duplex one counted.
[[nodiscard]] std::uint64_t count_links(const Network& network, std::uint32_t node_count);

/// **Requires** that all nodes are in the platform already.
void add_network_links(Platform& platform, const NodeForm& form);

/// Appends the route from the NIC of one device to that of another. **Requires** devices of different nodes.
/// **Cost** O(links on the route).
void cross_network(const Platform& platform, const NodeForm& form, DeviceId from, DeviceId to, Route& into);

/// The smallest bandwidth between the NICs of any two nodes; infinite if nothing bounds it.
[[nodiscard]] BytesPerSecond smallest_bandwidth_between_nodes(const Platform& platform, const NodeForm& form);

}  // namespace stagecraft
