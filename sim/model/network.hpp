#pragma once

#include "sim/model/platform.hpp"

#include <cstdint>

namespace stagecraft {

/// Links between the form's `node_count` nodes, both directions of a full-duplex one counted.
[[nodiscard]] std::uint64_t count_network_links(const NodeForm& form, std::uint32_t node_count);

/// **Requires** that all nodes are in the platform already.
void add_network_links(Platform& platform, const NodeForm& form);

/// Appends the route from the NIC of one device to that of another. **Requires** devices of different nodes.
/// **Cost** O(links on the route).
void cross_network(const Platform& platform, const NodeForm& form, DeviceId from, DeviceId to, Route& into);

/// The leaf switch or the router of a device's NIC, and 0 where all are alike. The bandwidth between the NICs of two
/// different nodes depends on nothing else than these and the kinds of the nodes.
[[nodiscard]] std::uint32_t attachment(const Platform& platform, const NodeForm& form, DeviceId device);

/// The smallest bandwidth between the NICs of any two nodes; infinite if nothing bounds it.
[[nodiscard]] BytesPerSecond smallest_bandwidth_between_nodes(const Platform& platform, const NodeForm& form);

}  // namespace stagecraft
