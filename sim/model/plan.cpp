#include "sim/model/plan.hpp"

#include <algorithm>

namespace stagecraft {

std::vector<Group> groups_of_one(const std::vector<DeviceId>& devices) { return {devices.begin(), devices.end()}; }

std::vector<DeviceId> devices_of(const Stage& stage) {
  std::vector<DeviceId> devices;
  for (const Group& group : stage.replicas) devices.insert(devices.end(), group.devices.begin(), group.devices.end());
  return devices;
}

bool runs_on(const Stage& stage, DeviceId device) {
  return std::ranges::any_of(stage.replicas,
                             [&](const Group& group) { return std::ranges::count(group.devices, device) > 0; });
}

bool share_a_device(const Stage& a, const Stage& b) {
  return std::ranges::any_of(a.replicas, [&](const Group& group) { return std::ranges::count(b.replicas, group) > 0; });
}

bool swaps(const MemoryAction& action) {
  const auto* segment = std::get_if<Recompute>(&action);
  return segment == nullptr || segment->swaps_checkpoint;
}

bool covers_all(const Stage& stage) {
  return std::ranges::all_of(stage.memory, [](const MemoryAction& action) { return covered_by(action).all(); });
}

std::int64_t window_of(const Stage& stage) {
  std::int64_t window = 1;
  for (const MemoryAction& action : stage.memory) {
    if (!covered_by(action).all()) window = std::max(window, covered_by(action).of);
  }
  return window;
}

}  // namespace stagecraft
