#pragma once

#include "sim/io/import_nvidia_topo.hpp"
#include "sim/io/topo_tree.hpp"
#include "sim/model/platform_spec.hpp"
#include "sim/workload/device_links.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// What a matrix of paths does not say.
struct TopoMachine {
  std::string platform;  ///< its name
  DeviceKind kind;       ///< of all GPUs
  DeviceLinks links;     ///< of that kind
  std::uint32_t nodes = 1;
  std::optional<BytesPerSecond> nic = std::nullopt;  ///< of one NIC in one direction; absent: nodes are not connected
  std::optional<Bytes> host_memory = std::nullopt;   ///< of a node; absent: nothing can be swapped
};

struct TopoPlatform {
  PlatformSpec spec;
  std::vector<std::string> remarks;  ///< where its numbers come from, a line each
};

/// The platform of nodes with such a matrix. GPUs that are all connected by as many NVLinks have links of their own for
/// each pair if they have enough of them, and else a switch; eight may be a cube mesh; those without NVLink are a PCIe
/// tree. Others are an explicit form of one node, without NIC and host: NVLinks, and switches and NUMA nodes between
/// GPUs that have none.
///
/// A GPU uses the NICs that are nearest to it, and a NIC belongs to as many GPUs everywhere.
///
/// **Throws** InputError, at row and column of an entry, for paths that contradict each other, for more NVLinks than
/// the kind has, for NICs that are not distributed evenly, and for what only regular nodes can have.
/// **Cost** O(GPUs³ + GPUs² · NICs).
[[nodiscard]] TopoPlatform topo_platform(const TopoMatrix& matrix, const TopoMachine& machine);

/// The same with the PCIe tree of the node, which has the bandwidths of its links and NICs, without `machine.nic`.
/// Nodes that no type of node describes are explicit also if they are several: each with its NICs at one switch that
/// joins all nodes. **Requires** a tree with NICs for several nodes. **Throws** also for more than 512 devices of such
/// nodes.
[[nodiscard]] TopoPlatform topo_platform(const TopoMatrix& matrix, const TopoTree& tree, const TopoMachine& machine);

}  // namespace stagecraft
