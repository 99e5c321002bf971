#include "sim/model/plan.hpp"

namespace stagecraft {

std::vector<Group> groups_of_one(const std::vector<DeviceId>& devices) { return {devices.begin(), devices.end()}; }

std::vector<DeviceId> devices_of(const Stage& stage) {
  std::vector<DeviceId> devices;
  for (const Group& group : stage.replicas) devices.insert(devices.end(), group.devices.begin(), group.devices.end());
  return devices;
}

}  // namespace stagecraft
