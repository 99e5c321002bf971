#include "sim/schedule/lowering/device_lanes.hpp"

namespace stagecraft {

DeviceLanes::DeviceLanes(WindowWriter& writer, const std::vector<DeviceId>& devices) : writer_(writer) {
  for (DeviceId device : devices) {
    Tail tail;
    tail.device = device;
    devices_.push_back(tail);
  }
}

void DeviceLanes::open() {
  for (Tail& tail : devices_) tail.lane = writer_.lane_of(tail.device, tail.discipline);
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
  if (!tail.barrier.is_none()) {
    writer_.depend_on(tail.barrier);
    if (tail.discipline == Discipline::Strict) tail.barrier = OpId::none();  // later ones wait behind this one
  }
  return tail.last;
}

void DeviceLanes::close(std::size_t index) {
  devices_[index].closed = true;
  writer_.close_lane(devices_[index].lane);
}

OpId DeviceLanes::oldest() const {
  OpId oldest = OpId::none();
  for (const Tail& tail : devices_) oldest = std::min({oldest, tail.last, tail.barrier});
  return oldest;
}

}  // namespace stagecraft
