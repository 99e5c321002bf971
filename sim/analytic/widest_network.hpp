#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/platform.hpp"

#include <cstddef>
#include <limits>

namespace stagecraft {

/// The most that the links of a platform let through, over all its devices and nodes. Devices without a node are a node
/// each. Infinite where no link is crossed, or nothing is connected.
struct WidestNetwork {
  std::size_t nodes = 1;
  std::size_t in_node = 1;       ///< devices of the largest node
  BytesPerSecond between{kAny};  ///< of one transfer of a boundary tensor from a node to another
  Seconds latency;               ///< the least of such a transfer
  BytesPerSecond card{kAny};     ///< of one flow of a collective from a node to another
  BytesPerSecond of_node{kAny};  ///< of all that leaves one node, or enters one, together
  BytesPerSecond inside{kAny};   ///< of all that one device sends to others of its node

  static constexpr double kAny = std::numeric_limits<double>::infinity();
};

/// **Cost** O(devices² · links on a route · log links).
[[nodiscard]] WidestNetwork widest_network(const Platform& platform);

}  // namespace stagecraft
