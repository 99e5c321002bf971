#pragma once

#include "sim/model/replicas.hpp"
#include "sim/schedule/lowering/window_writer.hpp"

#include <span>
#include <vector>

namespace stagecraft {

/// The lanes of a plan's devices, and what the next computation on each of them has to wait for. A computation of a
/// group occupies the lanes of all its members; the first stands for them.
class DeviceLanes {
 public:
  DeviceLanes(WindowWriter& writer, const Replicas& replicas);

  [[nodiscard]] std::size_t size() const { return devices_.size(); }
  [[nodiscard]] DeviceId device(std::size_t index) const { return devices_[index].device; }
  [[nodiscard]] LaneId lane(std::size_t index) const { return devices_[index].lane; }
  [[nodiscard]] Discipline discipline(std::size_t index) const { return devices_[index].discipline; }
  [[nodiscard]] bool is_ready(std::size_t index) const { return discipline(index) == Discipline::Ready; }
  void set_discipline(std::size_t index, Discipline discipline);
  /// Gives each device its lane, device by device. **Requires** that the disciplines are set.
  void open();
  /// Whether some device has the ready discipline.
  [[nodiscard]] bool any_ready() const { return ready_ > 0; }

  /// The last operation on the lane; none before the first.
  [[nodiscard]] OpId last(std::size_t index) const { return devices_[index].last; }
  /// The operation that the next one waits for; none if there is no such.
  [[nodiscard]] OpId barrier(std::size_t index) const { return devices_[index].barrier; }
  /// All operations appended to the lane from now on wait for `barrier`.
  void hold(std::size_t index, OpId barrier) { devices_[index].barrier = barrier; }
  /// Appends a computation to the device's lane.
  OpId append(std::size_t index, const Op& op, std::int32_t priority, Seconds not_before);
  /// Tells the engine that the lane gets no further operation.
  void close(std::size_t index);
  [[nodiscard]] bool is_closed(std::size_t index) const { return devices_[index].closed; }
  [[nodiscard]] OpId oldest() const;

 private:
  /// The end of one device's lane.
  struct Tail {
    DeviceId device;
    LaneId lane;
    std::span<const DeviceId> others = {};  ///< of its group
    std::vector<LaneId> other_lanes = {};
    Discipline discipline = Discipline::Strict;
    OpId last;
    OpId barrier;         ///< none, or the operation that the next one waits for; on a ready lane all later ones
    bool closed = false;  ///< the engine has been told that no further operation comes
  };
  WindowWriter& writer_;
  std::vector<Tail> devices_;
  std::size_t ready_ = 0;  ///< devices with the ready discipline
};

}  // namespace stagecraft
