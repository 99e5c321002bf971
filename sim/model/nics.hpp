#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/platform_spec.hpp"

#include <cstdint>

namespace stagecraft {

/// The NICs of a node of this kind; 0 without any.
[[nodiscard]] std::uint32_t nic_count(const NodeKind& kind);

/// Which of the node's NICs a device of the node uses. **Requires** a NIC.
[[nodiscard]] std::uint32_t nic_of(const NodeKind& kind, std::uint32_t device);

/// The most NICs of a node: as many rails has a network of them.
[[nodiscard]] std::uint32_t rail_count(const NodeForm& form);

/// The bandwidth of all NICs of a node together; zero without any.
[[nodiscard]] BytesPerSecond nics_bandwidth(const NodeKind& kind);

/// The links inside the node that a device crosses on its way to its NIC.
enum class WayToNic {
  None,     ///< a NIC of its own, or one that is no wider than a device's link to the switch
  OwnLink,  ///< the device's link: to the switch if the NIC is wider, or to the PCIe switch on which the NIC hangs
  Tree,     ///< the device's link and the uplink of its PCIe switch
};

/// A NIC of several devices hangs on their PCIe switch if no group of devices spans two switches, and on the sockets
/// otherwise, as a NIC of the node does.
[[nodiscard]] WayToNic way_to_nic(const NodeKind& kind);

/// What a node's devices can bring to its NICs, and these can send. **Cost** O(PCIe switches of the node).
[[nodiscard]] BytesPerSecond reach_of_nics(const NodeKind& kind);

}  // namespace stagecraft
