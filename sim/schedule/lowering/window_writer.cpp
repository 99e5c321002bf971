#include "sim/schedule/lowering/window_writer.hpp"

namespace stagecraft {

void WindowWriter::begin(OpId oldest) {
  window_.retired = oldest;
  window_.new_lanes = std::exchange(opened_, {});
  window_.new_stages = std::exchange(announced_, {});
  is_open_ = true;
}

OpGraph WindowWriter::finish() {
  OpGraph next;
  next.first_id = OpId(window_.first_id.value() + window_.ops.size());
  is_open_ = false;
  return std::exchange(window_, std::move(next));
}

LaneId WindowWriter::lane_of(DeviceId device, Discipline discipline) {
  const auto [found, is_new] = lane_of_.try_emplace({device, discipline}, lanes_);
  if (is_new) add_lanes(1, {discipline, device});
  return found->second;
}

LaneId WindowWriter::connection_of(const Op& transfer, Discipline discipline) {
  auto& known = connections_[discipline == Discipline::Strict ? 0 : 1];
  const auto [found, is_new] = known.try_emplace(route_key(transfer), lanes_);
  if (is_new) add_lanes(1, {discipline, DeviceId::none(), true});
  return found->second;
}

void WindowWriter::leave(DeviceId device) {
  for (const Discipline discipline : {Discipline::Strict, Discipline::Ready}) {
    const auto found = lane_of_.find({device, discipline});
    if (found == lane_of_.end()) continue;
    close_lane(found->second);
    lane_of_.erase(found);
  }
}

LaneId WindowWriter::open_lanes(std::size_t count, Discipline discipline) {
  return add_lanes(count, {discipline, DeviceId::none()});
}

LaneId WindowWriter::add_lanes(std::size_t count, const Lane& lane) {
  const LaneId first(lanes_);
  lanes_ += count;
  std::vector<Lane>& lanes = is_open_ ? window_.new_lanes : opened_;
  lanes.insert(lanes.end(), count, lane);
  return first;
}

void WindowWriter::set_group(std::span<const DeviceId> members) {
  std::vector<PlaceId>& others = others_[PlaceId(members.front().value())];
  others.clear();
  for (DeviceId other : members.subspan(1)) others.emplace_back(other.value());
}

StageId WindowWriter::announce(RunStage stage) {
  (is_open_ ? window_.new_stages : announced_).push_back(std::move(stage));
  return StageId(stages_++);
}

void take(WindowWriter& writer, PlaceId place, const StaticMemory& kept) {
  writer.take(place, MemoryCategory::Weights, kept.weights);
  writer.take(place, MemoryCategory::Gradients, kept.gradients);
  writer.take(place, MemoryCategory::Optimizer, kept.optimizer);
  writer.take(place, MemoryCategory::Buffers, kept.buffers);
}

void free(WindowWriter& writer, PlaceId place, const StaticMemory& kept) {
  writer.free(place, MemoryCategory::Weights, kept.weights);
  writer.free(place, MemoryCategory::Gradients, kept.gradients);
  writer.free(place, MemoryCategory::Optimizer, kept.optimizer);
  writer.free(place, MemoryCategory::Buffers, kept.buffers);
}

}  // namespace stagecraft
