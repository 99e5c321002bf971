#pragma once

#include "sim/model/platform.hpp"
#include "sim/schedule/ring_packing.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft {

/// Rings of the members of one node, each with its share of the bytes, over links between two members each. Half of
/// them run in one direction, the others in the other.
struct NodeRings {
  std::int64_t count = 0;
  RingWidths uses;           ///< by two members: how many of the rings go from the one to the other
  BytesPerSecond bandwidth;  ///< of all rings together
};

/// Libraries build several rings where one would leave links idle. None if the members are not in one node, if no ring
/// through all of them has a link from each member to the next, if a single one is as fast, or if the platform wants
/// no more than one. **Cost** O(members²), and a bounded search (`pack_rings`).
[[nodiscard]] std::optional<NodeRings> node_rings(const Platform& platform, const std::vector<DeviceId>& members);

}  // namespace stagecraft
