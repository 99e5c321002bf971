#include "sim/engine/outages.hpp"

#include <utility>

namespace stagecraft {

void Outages::begin(DeviceId device) {
  ++failures_[device.value()];
  ++lasting_;
}

bool Outages::end(DeviceId device) {
  --lasting_;
  return --failures_[device.value()] == 0;
}

bool Outages::hold_there(std::uint64_t op, const Op& what) {
  for (PlaceId place : {what.from, what.to}) {
    if (place.is_none() || !platform_.is_device(place)) continue;
    const DeviceId device = platform_.device(place);
    if (!is_down(device)) continue;
    held_[device.value()].push_back(op);
    return true;
  }
  return false;
}

std::vector<std::uint64_t> Outages::release(DeviceId device) { return std::exchange(held_[device.value()], {}); }

}  // namespace stagecraft
