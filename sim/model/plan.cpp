#include "sim/model/plan.hpp"

#include <algorithm>

namespace stagecraft {

std::vector<Group> groups_of_one(const std::vector<DeviceId>& devices) { return {devices.begin(), devices.end()}; }

std::vector<DeviceId> devices_of(const Stage& stage) {
  std::vector<DeviceId> devices;
  for (const Group& group : stage.replicas) devices.insert(devices.end(), group.devices.begin(), group.devices.end());
  return devices;
}

bool share_a_device(const Stage& a, const Stage& b) {
  return std::ranges::any_of(a.replicas, [&](const Group& group) { return std::ranges::count(b.replicas, group) > 0; });
}

}  // namespace stagecraft
