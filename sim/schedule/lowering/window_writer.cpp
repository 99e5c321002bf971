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
  if (is_new) {
    ++lanes_;
    (is_open_ ? window_.new_lanes : opened_).push_back({discipline, device});
  }
  return found->second;
}

LaneId WindowWriter::open_lanes(std::size_t count, Discipline discipline) {
  const LaneId first(lanes_);
  lanes_ += count;
  std::vector<Lane>& lanes = is_open_ ? window_.new_lanes : opened_;
  lanes.insert(lanes.end(), count, {discipline, DeviceId::none()});
  return first;
}

StageId WindowWriter::announce(RunStage stage) {
  (is_open_ ? window_.new_stages : announced_).push_back(std::move(stage));
  return StageId(stages_++);
}

}  // namespace stagecraft
