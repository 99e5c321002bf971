#pragma once

#include "sim/base/index.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::hetpipe {

/// HetPipe's policies for forming virtual workers.
enum class Allocation {
  Node,    ///< node partition: all devices of a worker are in one node, or a worker has several whole nodes
  Equal,   ///< equal distribution: a worker has the same number of devices of every node
  Hybrid,  ///< the fastest node is paired with the slowest, and so on; a worker has half its devices in each of the two
};
/// **Requires** `node`, `equal` or `hybrid`.
[[nodiscard]] Allocation allocation_of(const std::string& name);

/// A virtual worker: devices that run one pipeline, in its order.
using Worker = std::vector<DeviceId>;

/// Virtual workers of `size` devices each, which use every device once. If `size` is 0, a worker has, depending on the
/// allocation: Node, as many devices as a node (or the greatest common divisor of the node sizes); Equal, one device of
/// each node; Hybrid, as many devices as a node, or twice as many if that is odd. The devices of an explicit platform
/// count as one node. The speeds of devices come from the profile of `graph` and the platform.
/// **Throws** InputError if the nodes cannot be divided that way, or if a speed is needed and not known.
[[nodiscard]] std::vector<Worker> virtual_workers(const LayerGraph& graph, const Platform& platform,
                                                  Allocation allocation, std::size_t size);

/// The sizes of workers that can be formed, that of size 0 first, the others increasing. **Throws** InputError as
/// `virtual_workers` of size 0.
[[nodiscard]] std::vector<std::int64_t> worker_sizes(const LayerGraph& graph, const Platform& platform,
                                                     Allocation allocation);

}  // namespace stagecraft::hetpipe
