#pragma once

#include "sim/model/platform.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft {

/// The pairs of a node's devices that have a link of their own, in the order of `Node::interconnect`; none where
/// devices hang on switches.
[[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> linked_pairs(const Interconnect& interconnect,
                                                                                std::uint32_t device_count);

/// Number of PCIe switches under `device_count` devices, and of sockets above these.
[[nodiscard]] std::uint32_t switch_count(const PcieNode& tree, std::uint32_t device_count);
[[nodiscard]] std::uint32_t socket_count(const PcieNode& tree, std::uint32_t device_count);

/// Links inside one node, both directions of a full-duplex one counted.
[[nodiscard]] std::uint64_t count_links(const Interconnect& interconnect, std::uint32_t device_count);

/// **Requires** that the node's devices are in the platform already.
void add_interconnect_links(Platform& platform, const NodeKind& kind, Node& node);

/// Appends the route from the node's device `from` to its device `to`. **Requires** an interconnect, from != to.
void cross_interconnect(const Platform& platform, const NodeKind& kind, const Node& node, std::uint32_t from,
                        std::uint32_t to, Route& into);

/// The PCIe switch of a device, its position in a cube mesh, and 0 where all devices are alike. The bandwidth between
/// two different devices of a node depends on nothing else than these.
[[nodiscard]] std::uint32_t attachment(const Interconnect& interconnect, std::uint32_t device);

/// Whether the node's only NIC is wider than the link of a device to the switch. One device cannot use all of such a
/// NIC, so its transfers to other nodes cross its own link too.
[[nodiscard]] bool has_wider_card(const NodeKind& kind);

/// Append the route between a device and the top of the PCIe tree, where host memory and the node's NIC are attached,
/// or its link to the switch if the NIC is wider. Otherwise they append nothing.
void climb(const Platform& platform, const NodeKind& kind, const Node& node, std::uint32_t device, Route& into);
void descend(const Platform& platform, const NodeKind& kind, const Node& node, std::uint32_t device, Route& into);

/// The smallest bandwidth of a pair of the node's devices. **Requires** at least two devices.
[[nodiscard]] BytesPerSecond smallest_bandwidth_inside(const Interconnect& interconnect, std::uint32_t device_count);

}  // namespace stagecraft
