#pragma once

#include "sim/schedule/lowering/window_writer.hpp"

#include <algorithm>
#include <vector>

namespace stagecraft {

/// Where the next computation of each of a plan's devices goes, and what it has to wait for.
class DeviceLanes {
 public:
  DeviceLanes(WindowWriter& writer, const std::vector<DeviceId>& devices);

  [[nodiscard]] std::size_t size() const { return devices_.size(); }
  [[nodiscard]] DeviceId device(std::size_t index) const { return devices_[index].device; }
  [[nodiscard]] LaneId lane(std::size_t index) const { return devices_[index].lane; }
  [[nodiscard]] Discipline discipline(std::size_t index) const { return devices_[index].discipline; }
  [[nodiscard]] bool is_ready(std::size_t index) const { return discipline(index) == Discipline::Ready; }
  void set_discipline(std::size_t index, Discipline discipline) { devices_[index].discipline = discipline; }
  /// Gives each device its lane, in their order. **Requires** that the disciplines are set.
  void open();
  /// Whether some device takes what is ready instead of keeping its order.
  [[nodiscard]] bool any_ready() const;

  /// The last operation on the lane; none before the first.
  [[nodiscard]] OpId last(std::size_t index) const { return devices_[index].last; }
  /// What is appended from now on waits for `barrier`.
  void hold(std::size_t index, OpId barrier) { devices_[index].barrier = barrier; }
  OpId append(std::size_t index, Op op, std::int32_t priority, Seconds not_before);
  void close(std::size_t index);
  [[nodiscard]] bool is_closed(std::size_t index) const { return devices_[index].closed; }
  [[nodiscard]] OpId oldest() const;

 private:
  struct Tail {
    DeviceId device;
    LaneId lane;
    Discipline discipline = Discipline::Strict;
    OpId last;
    OpId barrier;         ///< none, or what the next operation waits for; on ready lanes every one
    bool closed = false;  ///< there will be no further operation, as told to the engine
  };
  WindowWriter& writer_;
  std::vector<Tail> devices_;
};

}  // namespace stagecraft
