#pragma once

#include "sim/schedule/lowering/host_copies.hpp"
#include "sim/schedule/lowering/orders.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// Copies the swapped parts of the stash to the host after their forward, and back before their backward. Each part is
/// copied by a transfer of its own in each direction, and only the step of the backward that needs a part waits for it.
class Swapping {
 public:
  /// All must outlive it.
  Swapping(LoweringState& state, const Orders& orders, HostCopies& copies);

  /// Whether anything is swapped at all.
  [[nodiscard]] bool is_active() const { return is_active_; }
  /// The replica's forward of the microbatch has been appended: appends the copies of its parts to the host.
  void copy_out(ReplicaId replica, std::uint32_t microbatch);
  /// The replica's forward of the microbatch is being appended: lets it wait for earlier copies to the host if the plan
  /// limits how many may be left.
  void depend_on_backlog(ReplicaId replica, std::uint32_t microbatch);
  /// The backward at `position` of its device's actions is appended next: appends the copies back of its parts that are
  /// not under way yet. Parts with `prefetch` of the stage's next backward may also come back, from the start of this
  /// backward on. So at most one stash is in use and one is on its way back.
  void before_backward(ReplicaId replica, std::size_t position);
  /// The replicas' shapes are followed by one that may swap other parts.
  void add_shape(const RunShape& next);
  void begin_next_iteration();
  [[nodiscard]] OpId oldest() const;

 private:
  /// The microbatch whose parts may come back before its backward is next. A part that is still to be copied out at
  /// that time is fetched later, by `copy_out` or `before_backward`, but as if it had been asked for then.
  struct Prefetch {
    std::int64_t index = -1;  ///< on the replica's board; -1: no backward of the iteration has been chosen yet
    OpId after;               ///< last operation on the device when the prefetch was allowed; its copies wait for it
  };
  /// The parts of the stash that the microbatch's forward leaves.
  [[nodiscard]] const std::vector<SwappedStash>& parts_of(ReplicaId replica, std::uint32_t microbatch) const {
    const TurnPrograms& programs = state_.worker(replica, microbatch, false).work.programs;
    return programs.of(state_.replicas().local(replica, microbatch)).swapped;
  }
  /// Appends the copies back, after `after`, of parts that have been copied out and are not under way back yet;
  /// with `only_prefetched` only of those parts with `prefetch`.
  void fetch(ReplicaId replica, std::uint32_t microbatch, OpId after, bool only_prefetched);

  LoweringState& state_;
  const Orders& orders_;
  HostCopies& copies_;
  IndexVector<ReplicaId, Prefetch> prefetch_;
  IndexVector<ReplicaId, char> swaps_;  ///< whether the replica has swapped anything by any shape
  bool is_active_ = false;
};

}  // namespace stagecraft
