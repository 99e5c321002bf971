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

/// Number of PCIe switches above `device_count` devices, of devices under one of these, and of sockets above them.
[[nodiscard]] std::uint32_t switch_count(const PcieNode& tree, std::uint32_t device_count);
[[nodiscard]] std::uint32_t devices_under(const PcieNode& tree, std::uint32_t device_count, std::uint32_t pcie_switch);
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

/// Append the route between a device and the top of the PCIe tree, where host memory is attached. **Require** a tree.
void climb_to_host(const Platform& platform, const NodeKind& kind, const Node& node, std::uint32_t device, Route& into);
void descend_from_host(const Platform& platform, const NodeKind& kind, const Node& node, std::uint32_t device,
                       Route& into);

/// Append the links inside the node between a device and its NIC (`way_to_nic`).
void climb_to_nic(const Platform& platform, const NodeKind& kind, const Node& node, std::uint32_t device, Route& into);
void descend_from_nic(const Platform& platform, const NodeKind& kind, const Node& node, std::uint32_t device,
                      Route& into);

/// The smallest bandwidth of a pair of the node's devices. **Requires** at least two devices.
[[nodiscard]] BytesPerSecond smallest_bandwidth_inside(const Interconnect& interconnect, std::uint32_t device_count);

}  // namespace stagecraft
