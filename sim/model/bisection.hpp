#pragma once

#include "sim/model/platform.hpp"

#include <cstdint>
#include <optional>

namespace stagecraft {

/// The bandwidth that the links between two halves of a platform carry together, in one direction. The halves are the
/// first and the second half of the nodes by their numbers, or of the devices of a single node; an odd one is in the
/// second.
struct Bisection {
  std::uint32_t first_half = 0;  ///< nodes, or devices, in the first half
  bool is_of_nodes = false;
  BytesPerSecond bandwidth;
  friend bool operator==(const Bisection&, const Bisection&) = default;
};

/// If the halves are joined by links of their own (full, ring, mesh, torus), the sum of these links. If they are joined
/// by switches, the narrowest level of either half, where each switch passes no more than what is below it. In a
/// dragonfly it is a maximum flow, since a router may serve nodes of both halves. It is never more than the NICs of
/// either half can bring. This is an upper bound: routes may not use all of it.
/// **Returns** none in the explicit form, for a single device, and where the halves are not connected.
/// **Cost** O(links between nodes), in a dragonfly that of a maximum flow.
[[nodiscard]] std::optional<Bisection> bisection(const Platform& platform);

}  // namespace stagecraft
