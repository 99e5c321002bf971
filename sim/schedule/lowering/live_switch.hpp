#pragma once

#include "sim/schedule/lowering/lowering_state.hpp"
#include "sim/schedule/memory_ledger.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace stagecraft {

/// Layers that one replica gives to another while training goes on: what is copied, and until when who runs what.
struct LiveMove {
  ReplicaId from;
  ReplicaId to;
  std::int64_t lag = 0;  ///< microbatches in flight at the giver when it starts another forward
  /// The first microbatch whose backward the receiver runs. The switch's first microbatch is the first whose forward it
  /// runs; for those in between the stash is handed over.
  std::int64_t first_backward = 0;
  /// The weights that are copied, numbered by the updates that made them. A backward of the receiver needs those of its
  /// forward. The last ones are those that the receiver goes on from; the optimizer's state follows them.
  std::int64_t first_version = 0;
  std::int64_t first_urgent = 0;  ///< the weights of the receiver's first forward
  std::int64_t last_version = 0;
  std::int64_t reserved_after = 0;  ///< backwards of giver and receiver, which then have room
  Bytes weights;                    ///< of one version
  Bytes optimizer;
  Bytes beside;  ///< weights that the receiver keeps beyond its versions, until it is done with the stash handed over
  Bytes stash_taken;                         ///< by the receiver for each microbatch
  Bytes stash_freed;                         ///< by the giver
  std::map<DeviceId, StaticMemory> grows;    ///< what devices keep in addition, from the start of the move on
  std::map<DeviceId, StaticMemory> shrinks;  ///< what they keep no longer, from its end on
};

/// All moves of a switch, by boundary.
struct LiveMoves {
  std::vector<LiveMove> moves;
  IndexVector<ReplicaId, std::int64_t> backwards;  ///< that have been appended
};

/// A change of plan while training goes on: layers move between neighbouring stages, and no microbatch waits for the
/// pipeline to drain (vPipe; docs/explanation/live-migration.md).
///
/// **Idea.** The orders of all devices go on. From microbatch `first` on, forwards follow the new plan. For each move
/// there is an earlier microbatch from which on backwards do: the one whose backward the giver runs next after its last
/// forward with the layers. Of the microbatches in between, forwards have run at the giver and backwards run at the
/// receiver, which gets their stash and their weights. All copies cross the platform's links beside the tensors of
/// training:
/// 1. *reserve*: the receiver takes memory for weights, gradients and optimizer state. If that is short, it first does
///    with its own stash what the new plan says (`LivePlan`);
/// 2. *copy ahead*: stash and weights of the microbatches in between, in the background as they come into being, since
///    they do not change any more;
/// 3. *switch*: the weights of the receiver's first forwards and, after the giver's last update, the optimizer state. A
///    forward of the receiver waits for the weights with all updates that it needs, and an update for the optimizer
///    state;
/// 4. *commit*: the giver frees what it kept.
///
/// **Invariants**, checked in every run: the backward of a microbatch uses the weights of its forward; updates of a
/// layer are made in the order of the microbatches, first all of the giver and then those of the receiver; no forward
/// lacks an update that it would have had before the switch, or has in the new stage if that lacks more.
class LiveSwitch {
 public:
  /// `state` must outlive it. Idle.
  explicit LiveSwitch(LoweringState& state) : state_(state) {}

  /// Starts a switch to a plan whose forwards begin with microbatch `first`. **Requires** that the switch before is
  /// over, and that no pass of the microbatches whose passes move has been appended.
  void begin(std::int64_t first, LiveMoves moves);
  /// Whether a switch is under way.
  [[nodiscard]] bool is_active() const { return active_; }
  [[nodiscard]] std::int64_t first() const { return first_; }
  /// The first microbatch that a late copy can delay, and the first whose backwards find all layers where the next plan
  /// has them. The receiver of layers from a later stage starts the first forward by the new plan before the backward
  /// that comes one microbatch earlier than the first one that moves.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> delayed() const;

  [[nodiscard]] bool can_run_forward(ReplicaId replica, std::uint32_t microbatch) const;
  [[nodiscard]] bool can_run_backward(ReplicaId replica, std::uint32_t microbatch) const;
  /// The last operation, a forward, waits for the weights that it uses.
  void depend_forward(ReplicaId replica, std::uint32_t microbatch);
  /// The last operation, the first of a backward, waits for stash and weights.
  void depend_backward(ReplicaId replica, std::uint32_t microbatch);
  /// A forward has been appended: appends the copy of its stash.
  void note_forward(ReplicaId replica, std::uint32_t microbatch, OpId forward);
  /// A backward has been appended, and its update if that takes time, which is then the last operation: appends the
  /// copies of the weights that it made, and of the optimizer's state after the giver's last update.
  void note_backward(ReplicaId replica, std::uint32_t microbatch);

  [[nodiscard]] OpId oldest() const;

 private:
  /// A move under way.
  struct Moving {
    explicit Moving(LiveMove of) : move(std::move(of)) {}
    LiveMove move;
    OpId reserved;                          ///< the receiver has its memory
    OpId committed;                         ///< the copy of the optimizer's state; none until it is appended
    bool is_over = false;                   ///< a forward of the receiver waits for `committed`, and so do later ones
    std::map<std::int64_t, OpId> versions;  ///< copies of weights
    std::map<std::uint32_t, OpId> stashes;  ///< copies of stashes, by microbatch
    std::map<std::uint32_t, std::int64_t> used;  ///< the version that the microbatch's forward has used
  };

  void reserve_if_due(Moving& moving);
  void drop_versions_beside(const Moving& moving, std::uint32_t microbatch);
  [[nodiscard]] bool copies_version(const Moving& moving, std::int64_t backwards) const;
  void copy_version(Moving& moving, std::int64_t version);
  void commit(Moving& moving);
  OpId append_copy(const Moving& moving, Migrated what, Bytes bytes);
  OpId append_setup(DeviceId device);
  void send_ahead(const Moving& moving);
  void mark();
  [[nodiscard]] std::int64_t version_for(const Moving& moving, std::uint32_t microbatch) const;
  [[nodiscard]] bool awaits_optimizer(const Moving& moving, std::uint32_t microbatch) const;
  void end_if_over();

  LoweringState& state_;
  bool active_ = false;
  bool is_marked_ = false;  ///< the first forward by the new plan has been appended
  std::int64_t first_ = 0;
  std::int64_t rounds_ = 1;  ///< per update
  std::vector<Moving> moves_;
  IndexVector<ReplicaId, std::int64_t> backwards_;           ///< that have been appended
  std::map<std::pair<ReplicaId, ReplicaId>, LaneId> lanes_;  ///< of copies ahead, by giver and receiver
};

}  // namespace stagecraft
