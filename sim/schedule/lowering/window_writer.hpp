#pragma once

#include "sim/model/op_graph.hpp"

#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace stagecraft {

/// Numbers operations, lanes and stages over a whole run and keeps the window in hand. Plans come and go; the writer
/// stays.
class WindowWriter {
 public:
  /// Starts the next window. `oldest` is the least operation that anything to come may depend on.
  void begin(OpId oldest);
  [[nodiscard]] OpGraph finish();
  /// The first operation of the window in hand, or of the next one.
  [[nodiscard]] OpId first_id() const { return window_.first_id; }
  [[nodiscard]] std::size_t size() const { return window_.ops.size(); }

  /// The device's lane of that discipline; opened when it is asked for first.
  [[nodiscard]] LaneId lane_of(DeviceId device, Discipline discipline);
  /// `count` further lanes of no device; the first of them.
  [[nodiscard]] LaneId open_lanes(std::size_t count, Discipline discipline);
  void close_lane(LaneId lane) { window_.closed_lanes.push_back(lane); }
  StageId announce(RunStage stage);

  OpId append(const Op& op) { return window_.append(op); }
  void depend_on(OpId earlier) { window_.depend_on(earlier); }
  void depend_on(std::span<const OpId> earlier) {
    for (OpId op : earlier) window_.depend_on(op);
  }
  [[nodiscard]] Op& last() { return window_.ops.back(); }
  /// Takes `bytes` when the last operation starts, frees them when it ends.
  void take(PlaceId place, MemoryCategory category, Bytes bytes) { window_.take(place, category, bytes); }
  void free(PlaceId place, MemoryCategory category, Bytes bytes) { window_.free(place, category, bytes); }
  void hold_while_it_runs(PlaceId place, Bytes workspace) {
    window_.take(place, MemoryCategory::Workspace, workspace);
    window_.free(place, MemoryCategory::Workspace, workspace);
  }

 private:
  OpGraph window_;
  std::vector<Lane> opened_;  ///< lanes for the next window to announce
  std::vector<RunStage> announced_;
  std::map<std::pair<DeviceId, Discipline>, LaneId> lane_of_;
  std::size_t lanes_ = 0;
  std::size_t stages_ = 0;
  bool is_open_ = false;
};

}  // namespace stagecraft
