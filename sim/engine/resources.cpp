#include "sim/engine/resources.hpp"

namespace stagecraft {

void Resources::add_lane(const Lane& lane, bool is_down) {
  Resource& added = lanes_.emplace_back();
  added.discipline = lane.discipline;
  added.device = lane.device;
  added.connection = lane.connection;
  added.down = is_down;
  if (lane.device.is_none()) return;
  ++open_;
  ++starved_;
}

void Resources::close(LaneId lane) {
  Resource& closed = lanes_[lane.value()];
  if (!closed.is_open()) return;
  --open_;
  if (closed.unstarted == 0) --starved_;
  closed.closed = true;
}

void Resources::join_further(std::uint64_t op, std::span<const LaneId> extra_lanes) {
  Further& further = further_[op];
  for (LaneId lane : extra_lanes) {
    join_lane(lane, op);
    further.lanes.push_back(lane);
    const DeviceId device = lanes_[lane.value()].device;
    if (!device.is_none()) further.devices.push_back(device);
  }
}

std::span<Resource* const> Resources::of(std::uint64_t op, const Op& what) {
  found_.clear();
  if (!what.lane.is_none()) found_.push_back(&lanes_[what.lane.value()]);
  if (what.extra_lanes > 0) {
    for (LaneId lane : further_.at(op).lanes) found_.push_back(&lanes_[lane.value()]);
  }
  if (links_.exist()) links_.append(op, found_);
  return found_;
}

void Resources::put_back(Resource& resource, std::uint64_t op) {
  if (resource.discipline == Discipline::Strict) resource.queue.push_front(op);
  if (resource.unstarted++ == 0 && resource.is_open()) --starved_;
}

void Resources::abandon() {
  for (Resource& lane : lanes_) {
    if (lane.unstarted > 0 && lane.is_open()) ++starved_;
    lane.abandon();
  }
  further_.clear();
  links_.abandon();
}

std::span<Resource* const> Resources::set_down(DeviceId device, bool down) {
  found_.clear();
  for (Resource& lane : lanes_) {
    if (lane.device != device) continue;
    lane.down = down;
    found_.push_back(&lane);
  }
  return found_;
}

}  // namespace stagecraft
