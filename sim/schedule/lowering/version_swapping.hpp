#pragma once

#include "sim/schedule/lowering/host_copies.hpp"
#include "sim/schedule/lowering/orders.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace stagecraft {

/// Keeps old weight versions in host memory (`Stage::swap_weight_versions`).
///
/// A forward uses the newest version of the weights, and a backward the one that its forward has used. A replica keeps
/// its two newest versions on the device. An update makes the version before them old: it is copied to the host if a
/// microbatch in flight has used it. Each backward that needs an old version gets it back, from the end of the
/// replica's previous backward on, and drops it at its end. The host drops it after the last copy back.
///
/// Updates are counted in the order of the device, which decides what a forward uses. Only asynchronous schedules
/// update while microbatches are in flight, and their orders are strict.
class VersionSwapping {
 public:
  /// `versions`: by stage, those that a replica keeps. `state`, `orders` and `copies` must outlive it.
  VersionSwapping(LoweringState& state, const Orders& orders, HostCopies& copies,
                  const std::vector<std::int64_t>& versions);

  /// Whether any replica moves versions at all.
  [[nodiscard]] bool is_active() const { return is_active_; }
  /// The replica's forward of the microbatch has been appended.
  void note_forward(ReplicaId replica, std::uint32_t microbatch);
  /// The replica's weights change when all of `after` have ended.
  void update(ReplicaId replica, std::span<const OpId> after);
  /// The backward of the microbatch is appended next: appends the copy back of its version if it needs one and that is
  /// not on its way yet.
  void before_backward(ReplicaId replica, std::uint32_t microbatch);
  /// The last operation, the first one of that backward, waits for its version.
  void depend_on_version(ReplicaId replica, std::uint32_t microbatch);
  /// The last operation ends the use of the version in that backward.
  void release(ReplicaId replica, std::uint32_t microbatch);
  /// A backward of the replica, which ends with `end`, has been appended, with the update that follows at once, if one
  /// does. Appends the copy back for the next backward of the stage, the first from `position` of the device's actions
  /// on.
  void prefetch(ReplicaId replica, std::size_t position, OpId end);
  [[nodiscard]] OpId oldest() const;

 private:
  /// What a microbatch in flight needs for its backward.
  struct Use {
    std::int64_t version = 0;
    OpId copy_back;  ///< none: not asked for
  };
  struct Worker {
    bool moves = false;
    Bytes bytes;                             ///< of one version
    std::int64_t newest = 0;                 ///< the version that the next forward uses: the number of updates so far
    std::map<std::uint32_t, Use> in_flight;  ///< by microbatch
    std::map<std::int64_t, OpId> on_host;    ///< by version: its copy to the host
  };
  void fetch(ReplicaId replica, std::uint32_t microbatch, OpId after);

  LoweringState& state_;
  const Orders& orders_;
  HostCopies& copies_;
  IndexVector<ReplicaId, Worker> workers_;
  bool is_active_ = false;
};

}  // namespace stagecraft
