#pragma once

#include "sim/io/import_nccl_topology.hpp"
#include "sim/io/topo_platform.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace stagecraft {

/// What the XML of a node does not say.
struct NcclMachine {
  std::string platform;              ///< its name
  DeviceKind kind;                   ///< of all GPUs
  std::optional<DeviceLinks> links;  ///< of that kind, if they are known
  std::uint32_t nodes = 1;
  std::optional<BytesPerSecond> nic = std::nullopt;  ///< of each NIC whose speed the file does not give
  std::optional<Bytes> host_memory = std::nullopt;   ///< of a node; absent: nothing can be swapped
};

/// The platform of such nodes: NVLinks or xGMI links as `topo_platform` makes them, of the bandwidth that the maker of
/// the GPUs publishes for their architecture; PCIe links, sockets and NICs with the bandwidths of the file. What it
/// does not tell of PCIe and sockets is that of the kind's PCIe, or of PCIe 3.0 x16. Links that lead to no other GPU of
/// the file do not count.
///
/// **Throws** InputError, at a line, for GPUs of several architectures or of another one than the kind has, links that
/// the other GPU does not have, more of them than the kind has, GPUs that have not as many to switches, and an
/// architecture whose links are not known; for several nodes without NICs, or without their speed; for a speed of NICs
/// that are none or have theirs; and as `topo_platform`. **Cost** O(GPUs³ + GPUs² · NICs).
[[nodiscard]] TopoPlatform nccl_platform(const NcclTopology& topology, const NcclMachine& machine);

/// Why the platform has no links between GPUs but PCIe, though the machine may have some; none if it has some, or the
/// file tells that there are none.
[[nodiscard]] std::optional<std::string> why_pcie_alone(const NcclTopology& topology);

}  // namespace stagecraft
