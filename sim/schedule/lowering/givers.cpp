#include "sim/schedule/lowering/givers.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>

namespace stagecraft {

std::vector<DeviceId> givers(const Platform& platform, const std::vector<DeviceId>& holders,
                             const std::vector<DeviceId>& receivers) {
  const std::size_t share = (receivers.size() + holders.size() - 1) / holders.size();
  std::map<DeviceId, std::size_t> given;
  std::map<NodeId, std::size_t> leaving;  // copies from the node to others
  std::vector<DeviceId> found(receivers.size(), DeviceId::none());
  const auto node_of = [&](DeviceId device) { return platform.devices[device].node; };
  for (std::size_t i = 0; i < receivers.size(); ++i) {
    const NodeId node = node_of(receivers[i]);
    if (node.is_none()) continue;
    DeviceId nearest = DeviceId::none();
    for (DeviceId holder : holders) {
      if (node_of(holder) != node || given[holder] >= share) continue;
      if (nearest.is_none() || given[holder] < given[nearest]) nearest = holder;
    }
    if (!nearest.is_none()) ++given[found[i] = nearest];
  }
  for (DeviceId& giver : found) {
    if (!giver.is_none()) continue;
    giver = *std::ranges::min_element(
        holders, {}, [&](DeviceId holder) { return std::tuple(given[holder], leaving[node_of(holder)]); });
    ++given[giver];
    ++leaving[node_of(giver)];
  }
  return found;
}

}  // namespace stagecraft
