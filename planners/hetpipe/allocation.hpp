#pragma once

#include "sim/base/index.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace stagecraft::hetpipe {

/// HetPipe's ways to form virtual workers.
enum class Allocation {
  Node,    ///< node partition: all devices of a worker are in one node
  Equal,   ///< equal distribution: a worker takes as many devices of every node
  Hybrid,  ///< the fastest node with the slowest, and so on inwards; a worker takes half its devices of each of the two
};
/// **Requires** `node`, `equal` or `hybrid`.
[[nodiscard]] Allocation allocation_of(const std::string& name);

/// Devices that run one pipeline, in its order.
using Worker = std::vector<DeviceId>;

/// Virtual workers of `size` devices each, which use every device once. 0: a node (or what divides all nodes), one
/// device of each node, or as many devices as a node has. Devices of an explicit platform are one node.
/// How fast a device is the profile of `graph` and the platform tell.
/// **Throws** InputError where the nodes cannot be divided like that, or a speed is needed and not known.
[[nodiscard]] std::vector<Worker> virtual_workers(const LayerGraph& graph, const Platform& platform,
                                                  Allocation allocation, std::size_t size);

}  // namespace stagecraft::hetpipe
