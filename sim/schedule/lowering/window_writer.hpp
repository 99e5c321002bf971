#pragma once

#include "sim/model/op_graph.hpp"
#include "sim/schedule/memory_ledger.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stagecraft {

/// Numbers operations, lanes and stages over a whole run, and holds the window that is being written. One writer serves
/// all plans of a run.
///
/// A window announces the lanes and stages that are new in it, and the engine learns of them in no other way. A plan
/// may open lanes and stages before the first window begins; they are kept and announced by the next window.
class WindowWriter {
 public:
  /// Starts the next window. `oldest` is the least operation that any operation from now on may depend on; the engine
  /// may forget all operations below it.
  void begin(OpId oldest);
  /// Makes space for `count` operations of the window in hand at once.
  void reserve(std::size_t count) { window_.reserve(count); }
  /// Ends the window and returns it. Operations of the next one continue its numbers.
  [[nodiscard]] OpGraph finish();
  /// The number of the first operation of the present window, or between windows of the next one.
  [[nodiscard]] OpId first_id() const { return window_.first_id; }
  [[nodiscard]] std::size_t size() const { return window_.ops.size(); }

  /// The device's lane of that discipline, opened at the first call. Plans that follow each other share it, so a device
  /// that changes its discipline has two lanes.
  [[nodiscard]] LaneId lane_of(DeviceId device, Discipline discipline);
  /// Opens `count` more lanes that belong to no device, and returns the first.
  [[nodiscard]] LaneId open_lanes(std::size_t count, Discipline discipline);
  /// The connection that a tensor takes on its way, or on the leg of it: opened at the first call, and shared by plans
  /// that follow each other.
  [[nodiscard]] LaneId connection_of(const Op& transfer, Discipline discipline);
  /// The plan that follows does not use the device: its lanes get no further operation, and a later plan opens new
  /// ones.
  void leave(DeviceId device);
  /// Announces that no later window has operations for the lane.
  void close_lane(LaneId lane) { window_.closed_lanes.push_back(lane); }
  /// The number that the next stage will get.
  [[nodiscard]] StageId next_stage() const { return StageId(stages_); }
  /// Announces a stage and returns its number in the run.
  StageId announce(RunStage stage);

  OpId append(const Op& op) { return window_.append(op); }
  void depend_on(OpId earlier) { window_.depend_on(earlier); }
  void depend_on(std::span<const OpId> earlier) {
    for (OpId op : earlier) window_.depend_on(op);
  }
  [[nodiscard]] Op& last() { return window_.ops.back(); }
  /// The last operation occupies a further lane.
  void occupy(LaneId lane) { window_.occupy(lane); }
  /// What the first of these devices takes and frees from now on, each of them does.
  void set_group(std::span<const DeviceId> members);
  /// The last operation takes `bytes` when it starts, or frees them when it ends.
  void take(PlaceId place, MemoryCategory category, Bytes bytes) { change({place, category, false, bytes}); }
  void free(PlaceId place, MemoryCategory category, Bytes bytes) { change({place, category, true, -bytes}); }
  /// The last operation changes the memory of a place alone, even if it is the first of a group.
  void change_alone(const MemoryDelta& delta) { window_.add_delta(delta); }
  void hold_while_it_runs(PlaceId place, Bytes workspace) {
    take(place, MemoryCategory::Workspace, workspace);
    free(place, MemoryCategory::Workspace, workspace);
  }

 private:
  LaneId add_lanes(std::size_t count, const Lane& lane);
  void change(const MemoryDelta& delta) {
    window_.add_delta(delta);
    if (const auto group = others_.find(delta.place); group != others_.end()) {
      for (PlaceId other : group->second) window_.add_delta({other, delta.category, delta.at_end, delta.bytes});
    }
  }

  OpGraph window_;
  std::vector<Lane> opened_;                        ///< lanes opened between windows, for the next window to announce
  std::vector<RunStage> announced_;                 ///< likewise stages
  std::map<PlaceId, std::vector<PlaceId>> others_;  ///< of a group, by its first device
  std::map<std::pair<DeviceId, Discipline>, LaneId> lane_of_;
  std::array<std::unordered_map<std::uint64_t, LaneId>, 2> connections_;  ///< by discipline, by `route_key`
  std::size_t lanes_ = 0;                                                 ///< number of lanes opened so far
  std::size_t stages_ = 0;                                                ///< number of stages announced so far
  bool is_open_ = false;
};

/// The last operation takes what a replica keeps when it starts, or frees it when it ends.
void take(WindowWriter& writer, PlaceId place, const StaticMemory& kept);
void free(WindowWriter& writer, PlaceId place, const StaticMemory& kept);

}  // namespace stagecraft
