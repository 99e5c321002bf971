#pragma once

#include "sim/schedule/lowering/divided_state.hpp"
#include "sim/schedule/lowering/ended_backward.hpp"
#include "sim/schedule/lowering/lowering_state.hpp"
#include "sim/schedule/lowering/ring_collective.hpp"
#include "sim/schedule/lowering/version_swapping.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace stagecraft {

/// All-reduces and optimizer steps. A synchronous schedule has them once an iteration, after the last backward of every
/// replica. An asynchronous schedule has them after each round, in which every replica of a ring runs one microbatch,
/// or after as many rounds as the plan says (`Plan::rounds_per_update`).
///
/// A *ring* is the replicas that hold the same layers (`Replicas::rings`) or the same tied parameters (`TiedRing`);
/// they sum up their gradients. A ring with nothing to exchange has no all-reduce. A replica may be in several rings,
/// each for some of its parameters; the rings of a replica do not wait for one another. Where gradients are divided, a
/// ring of replicas exchanges them after every microbatch (`DividedState`), and nothing here.
///
/// An asynchronous schedule has the all-reduce of tied parameters after the least number of microbatches with which
/// rounds of all its stages end. The first of these stages in a pipeline runs the last backward before it, and waits
/// for it as for its own; the others go on.
class Synchronise {
 public:
  /// `versions` learns of the updates of an asynchronous schedule. All must outlive it.
  /// `lowered_all_reduces` as in `LowerOptions`.
  Synchronise(LoweringState& state, bool synchronous, bool lowered_all_reduces, VersionSwapping& versions,
              DividedState& divided);

  /// Whether a backward may be lowered. Asynchronous replicas wait until the all-reduce that follows an earlier round
  /// is appended, because this backward depends on it.
  [[nodiscard]] bool can_run_backward(ReplicaId replica, std::int64_t index) const;
  /// The end of the previous round's all-reduce, if it has one, which the first operation of a backward waits for.
  [[nodiscard]] const std::vector<OpId>& before_backward(ReplicaId replica) const;
  /// Appends the optimizer's step of the previous round, if it has one, before the backward.
  void step_before_backward(ReplicaId replica);
  /// Whether the replica's next backward may be the last before an exchange of its gradients: the last of an iteration
  /// (on a ready lane, which runs them in another order, any of them), or that of a round before an update.
  [[nodiscard]] bool may_complete_gradients(ReplicaId replica) const;
  /// A backward has been appended.
  void note_backward(const EndedBackward& ended);

  /// Appends the flush of an iteration: the remaining all-reduces, then the optimizer's steps.
  void flush();
  /// Appends the barrier that holds every device until the iteration has ended. **Requires** its flush.
  void end_iteration();
  /// The backwards of the replica that have been appended, in this iteration or in an asynchronous run.
  [[nodiscard]] std::int64_t backwards(ReplicaId replica) const { return workers_[replica].backwards; }
  /// Whether no all-reduce or step still to come waits only for operations of the replica's own device.
  [[nodiscard]] bool is_settled(ReplicaId replica, bool is_last_iteration) const;
  /// The operations after which the replica's weights no longer change.
  [[nodiscard]] std::vector<OpId> last_of(ReplicaId replica) const;
  [[nodiscard]] OpId oldest() const;

 private:
  using ByBucket = std::vector<std::vector<OpId>>;  ///< by bucket of gradients: what it waits for
  struct Worker {
    std::int64_t backwards = 0;  ///< appended so far, in this iteration or in an asynchronous run
    /// What ends no earlier than any backward appended so far: the last one, and all of an iteration on a ready lane,
    /// which may run them in another order.
    std::vector<OpId> last_backwards;
    ByBucket completed;                ///< of all its rings; synchronous: by the backwards of `last_backwards`
    std::vector<std::size_t> awaited;  ///< rings for whose all-reduces its updates wait
    std::vector<OpId> synchronised;    ///< the ends of their last all-reduces, one of each ring that has had any
    /// Asynchronous: rings of tied parameters that are here, and the time of the optimizer's step for these. Only the
    /// step after the round with which the ring's all-reduce is due has them.
    std::vector<std::pair<std::size_t, Seconds>> tied;
    std::uint32_t updates = 0;  ///< optimizer steps so far
  };
  struct Round {
    std::size_t arrived = 0;  ///< members whose backward has been appended
    ByBucket completed;
  };
  struct Ring {
    RingCollective gradients;
    std::vector<ReplicaId> members;          ///< also those on the device of another
    std::map<std::uint32_t, StageId> first;  ///< by pipeline: the first stage of its members
    std::int64_t apart = 1;                  ///< asynchronous: the microbatches between two all-reduces
    std::size_t arrived = 0;                 ///< members whose iteration's backwards have all been appended
    std::map<std::int64_t, Round> rounds;    ///< asynchronous, by all-reduce: those that some members have had
    std::int64_t all_reduces = 0;            ///< asynchronous: those that have been appended
    OpId end = OpId::none();                 ///< of the last all-reduce
  };

  /// The microbatch of the replica's last backward; before any, of its first one.
  [[nodiscard]] std::uint32_t last_microbatch(ReplicaId replica) const {
    return state_.replicas().microbatch(replica, std::max<std::int64_t>(workers_[replica].backwards - 1, 0));
  }
  /// The backwards of the replica in an iteration.
  [[nodiscard]] std::int64_t in_iteration(ReplicaId replica) const {
    return state_.replicas().count(replica, state_.shape.plan().microbatches);
  }
  /// The time of an update after the replica's last backward, of the parameters that change.
  [[nodiscard]] Seconds update_time(ReplicaId replica) const;
  /// Whether an update, with its all-reduce, follows that many backwards of the replica in an asynchronous run.
  [[nodiscard]] bool updates_after(ReplicaId replica, std::int64_t backwards) const {
    return backwards % (state_.replicas()[replica].taken * rounds_per_update_) == 0;
  }
  void add_member(ReplicaId replica);
  /// Asynchronous: whether an all-reduce for which the replica waits follows its backwards so far.
  [[nodiscard]] bool is_reduced_after(ReplicaId replica) const;
  void note_last(const EndedBackward& ended);
  void note_rounds(const EndedBackward& ended);
  void note_round(std::size_t of_ring, std::int64_t number, const EndedBackward& ended);
  void reduce_iteration(std::size_t number);
  void all_reduce(Ring& ring, ByBucket completed, std::uint32_t first_microbatch);
  void append_update(ReplicaId replica, const std::vector<OpId>& after);
  void change_weights(ReplicaId replica, const std::vector<OpId>& after);

  LoweringState& state_;
  VersionSwapping& versions_;
  DividedState& divided_;
  bool synchronous_;
  std::int64_t rounds_per_update_;
  IndexVector<ReplicaId, Worker> workers_;
  std::vector<Ring> rings_;
};

}  // namespace stagecraft
