#pragma once

#include "sim/model/schedule.hpp"
#include "sim/schedule/lowering/lowering_state.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace stagecraft {

/// All-reduces and optimizer steps. A synchronous schedule has them once an iteration, after the last backward of every
/// replica; an asynchronous one after each round, one microbatch on every replica of a ring.
class Synchronise {
 public:
  /// `state` must outlive it.
  Synchronise(LoweringState& state, bool synchronous);

  /// Counts the backwards that an iteration has.
  void take(const Schedule& schedule);
  /// A backward may be lowered: asynchronous replicas wait until the round before is summed up, since the next gradient
  /// comes on top of it.
  [[nodiscard]] bool can_run_backward(ReplicaId replica, std::int64_t index) const;
  /// What the first operation of a backward waits for: its part of the round before.
  [[nodiscard]] const std::vector<OpId>& before_backward(ReplicaId replica) const;
  /// The optimizer's step of the round before, if it has one, goes ahead of the backward.
  void step_before_backward(ReplicaId replica);
  /// The microbatch's backward has ended with `op`; `is_last_segment`: the iteration's orders are all known.
  void note_backward(ReplicaId replica, std::uint32_t microbatch, OpId op, bool is_last_segment);

  /// The flush: what is left of the all-reduces, then the steps, then a barrier that holds every device.
  void end_iteration();
  /// Whether nothing that is still to come has to wait for operations of the replica's device alone.
  [[nodiscard]] bool is_settled(ReplicaId replica, bool is_last_iteration) const;
  /// The operations after which the replica's weights no longer change.
  [[nodiscard]] std::vector<OpId> last_of(ReplicaId replica) const;
  [[nodiscard]] OpId oldest() const;

 private:
  struct Worker {
    std::int64_t backwards = 0;  ///< ended, in this iteration or in the run
    std::int64_t due = 0;        ///< backwards among the iteration's actions so far
    OpId last_backward;
    std::vector<OpId> synchronised;  ///< its part of the last all-reduce
    std::int64_t synchronised_rounds = 0;
    std::uint32_t updates = 0;  ///< so far
  };
  struct Ring {
    std::vector<ReplicaId> members;
    Bytes parameters;
    Seconds analytic;                                  ///< what an all-reduce takes on the analytic network
    std::size_t arrived = 0;                           ///< members whose iteration's backwards have all been appended
    std::map<std::int64_t, std::vector<OpId>> rounds;  ///< asynchronous: backwards of a round so far
  };

  [[nodiscard]] bool has_update(ReplicaId replica) const { return state_.shape[replica].update > Seconds(0); }
  [[nodiscard]] Ring& ring_of(ReplicaId replica) { return rings_[state_.replicas().ring_of(stage_of(replica))]; }
  [[nodiscard]] const Ring& ring_of(ReplicaId replica) const {
    return rings_[state_.replicas().ring_of(stage_of(replica))];
  }
  [[nodiscard]] StageId stage_of(ReplicaId replica) const { return state_.replicas()[replica].stage; }
  void note_round(Ring& ring, std::int64_t round, OpId op);
  void reduce_iteration(Ring& ring);
  void all_reduce(Ring& ring, const std::vector<OpId>& after);
  [[nodiscard]] Seconds latency_of(const Ring& ring) const;
  void append_update(ReplicaId replica, const std::vector<OpId>& after);
  void append_barrier();

  LoweringState& state_;
  bool synchronous_;
  IndexVector<ReplicaId, Worker> workers_;
  std::vector<Ring> rings_;
};

}  // namespace stagecraft
