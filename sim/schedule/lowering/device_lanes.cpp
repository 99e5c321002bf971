#include "sim/schedule/lowering/device_lanes.hpp"

namespace stagecraft {

DeviceLanes::DeviceLanes(WindowWriter& writer, const Replicas& replicas) : writer_(writer) {
  for (DeviceId device : replicas.devices()) {
    Tail tail;
    tail.device = device;
    tail.others = replicas.members(replicas.on(device).front()).subspan(1);
    devices_.push_back(tail);
  }
}

void DeviceLanes::open() {
  for (Tail& tail : devices_) {
    tail.lane = writer_.lane_of(tail.device, tail.discipline);
    for (DeviceId other : tail.others) tail.other_lanes.push_back(writer_.lane_of(other, tail.discipline));
  }
}

void DeviceLanes::set_discipline(std::size_t index, Discipline discipline) {
  devices_[index].discipline = discipline;
  if (is_ready(index)) ++ready_;
}

OpId DeviceLanes::append(std::size_t index, const Op& op, std::int32_t priority, Seconds not_before) {
  Tail& tail = devices_[index];
  tail.last = writer_.append(op);
  Op& appended = writer_.last();
  appended.lane = tail.lane;
  appended.priority = priority;
  appended.not_before = not_before;
  for (LaneId lane : tail.other_lanes) writer_.occupy(lane);
  if (!tail.barrier.is_none()) {
    writer_.depend_on(tail.barrier);
    if (tail.discipline == Discipline::Strict) tail.barrier = OpId::none();  // later ones wait behind this one
  }
  return tail.last;
}

void DeviceLanes::close(std::size_t index) {
  Tail& tail = devices_[index];
  tail.closed = true;
  writer_.close_lane(tail.lane);
  for (LaneId lane : tail.other_lanes) writer_.close_lane(lane);
}

OpId DeviceLanes::oldest() const {
  OpId oldest = OpId::none();
  for (const Tail& tail : devices_) oldest = std::min({oldest, tail.last, tail.barrier});
  return oldest;
}

}  // namespace stagecraft
