#pragma once

#include "sim/schedule/lowering/orders.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// Copies swapped parts of the stash to the host after their forward and back for their backward. Each part is a
/// transfer of its own each way, and only the step of the backward that needs it waits for it. A device has one copy
/// engine for each way: its copies go one after the other, in the order in which they are asked for.
class Swapping {
 public:
  /// `state` and `orders` must outlive it.
  Swapping(LoweringState& state, const Orders& orders);

  /// Whether anything is swapped at all.
  [[nodiscard]] bool is_active() const { return is_active_; }
  /// The forward has been appended.
  void copy_out(ReplicaId replica, std::uint32_t microbatch);
  /// The backward at `position` of its device's actions comes next: what it needs and has not asked for yet is fetched,
  /// and the parts of the stage's backward after it may be, from the start of this one on. So one stash is in use and
  /// one on its way.
  void before_backward(ReplicaId replica, std::size_t position);
  void begin_next_iteration();
  [[nodiscard]] OpId oldest() const;

 private:
  /// Which microbatch's parts may come back ahead of their backward.
  struct Prefetch {
    std::int64_t index = -1;  ///< on the replica's board; -1: none has been fetched yet
    OpId after;               ///< what had run on the device when that was allowed
  };
  /// The lanes of a device's two copy engines; none until it swaps.
  struct Engines {
    LaneId out;
    LaneId in;
  };
  OpId append_copy(ReplicaId replica, OpKind kind, std::uint32_t microbatch, Bytes bytes);
  void fetch(ReplicaId replica, std::uint32_t microbatch, OpId after, bool only_prefetched);

  LoweringState& state_;
  const Orders& orders_;
  IndexVector<ReplicaId, Prefetch> prefetch_;
  std::vector<Engines> engines_;  ///< by device
  bool is_active_ = false;
};

}  // namespace stagecraft
