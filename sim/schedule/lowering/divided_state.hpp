#pragma once

#include "sim/schedule/gather_units.hpp"
#include "sim/schedule/lowering/ended_backward.hpp"
#include "sim/schedule/lowering/lowering_state.hpp"
#include "sim/schedule/lowering/ring_collective.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace stagecraft {

/// What replicas exchange that divide the state of their stage's parameters (`Training::zero`).
///
/// *The optimizer's state* (1): gradients are not all-reduced; each replica gets its part of the sum (reduce-scatter,
/// by `Synchronise`) and changes its part of the weights, then all gather the weights that the others have changed.
/// Without buckets they do so at the end of the iteration. With buckets they gather the weights of the update before at
/// the begin of the iteration, in the order of the first forward, which waits for each bucket when it comes to it: an
/// iteration that repeats takes as long as if it gathered its own.
///
/// *Gradients* (2): none is kept whole, so they are summed up after every microbatch. No backward waits for a buffer.
///
/// *Weights* (3): passes gather them, each for itself (`JointPasses`), and nothing is gathered after an update. What a
/// ring gathers and reduces goes one after the other, as on one communicator.
class DividedState {
 public:
  /// `state` must outlive it. `is_lowered` as for `RingCollective`.
  DividedState(LoweringState& state, bool is_lowered);

  [[nodiscard]] bool divides_gradients() const { return zero_ >= 2; }
  /// Whether passes of the replica gather the weights of its stage.
  [[nodiscard]] bool gathers_for_passes(ReplicaId replica) const { return zero_ >= 3 && ring_of_[replica] != kNone; }

  /// What the replica's next forward waits for, bucket by bucket of its stage's weights: those that the update before
  /// has changed. Empty where nothing is missing. On a ready lane any forward may be the first, so all of them wait.
  [[nodiscard]] const std::vector<OpId>& before_forward(ReplicaId replica);
  /// Appends the gathers at the end of an iteration, if they are there: after the last operations of all replicas.
  void gather_after_updates(const std::function<std::vector<OpId>(ReplicaId)>& last_of);

  /// The replicas that divide the parameters of a stage whose passes gather weights.
  [[nodiscard]] const std::vector<ReplicaId>& sharers(ReplicaId replica) const { return ring(replica).members; }
  /// In how many buckets they gather them.
  [[nodiscard]] std::size_t buckets(ReplicaId replica) const { return ring(replica).weights.buckets(); }
  /// Appends the gathers of the weights for a unit of a pass, after `after`. Returns the last one's end.
  OpId gather_unit(ReplicaId replica, const GatherUnit& unit, std::vector<OpId> after, std::uint32_t microbatch);
  /// Appends the reduce-scatter of the k-th bucket of gradients that the stage's backward completes; none of tied ones,
  /// which other stages have too.
  void reduce_bucket(ReplicaId replica, std::size_t k, std::vector<OpId> after, std::uint32_t microbatch);

  /// The replica has had so many backwards in this iteration. Where gradients are divided, appends the reduce-scatters
  /// of one microbatch of each replica when all that have so many have had them.
  void note_backward(const EndedBackward& ended, std::int64_t backwards);

  /// The end of what the replica's ring has exchanged last in this iteration; none if it has exchanged nothing.
  [[nodiscard]] OpId last_exchange(ReplicaId replica) const {
    return ring_of_[replica] == kNone ? OpId::none() : ring(replica).end;
  }
  /// What the first exchange of a ring in this iteration waits for: the end of the iteration before. None in the first
  /// iteration, and once the replica's ring has exchanged something, which other exchanges wait for.
  [[nodiscard]] OpId barrier_for(ReplicaId replica) const {
    return last_exchange(replica).is_none() ? barrier_ : OpId::none();
  }
  /// `barrier`: the end of the iteration.
  void end_iteration(OpId barrier);
  [[nodiscard]] OpId oldest() const;

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  using ByBucket = std::vector<std::vector<OpId>>;  ///< what a bucket of gradients waits for
  struct Round {
    std::int64_t arrived = 0;      ///< members whose backward has been appended
    std::uint32_t microbatch = 0;  ///< of the first of these
    ByBucket completed;
  };
  struct Ring {
    RingCollective weights;
    std::optional<RingCollective> gradients;  ///< where they are divided
    std::vector<ReplicaId> members;
    std::vector<OpId> gathered;            ///< by bucket: when weights have come in this iteration
    std::map<std::int64_t, Round> rounds;  ///< by number of backwards: those that some members have had
    std::int64_t next = 1;                 ///< the number of the round that is exchanged next
    OpId end = OpId::none();               ///< of what it has exchanged last
  };

  [[nodiscard]] const Ring& ring(ReplicaId replica) const { return rings_[ring_of_[replica]]; }
  [[nodiscard]] Ring& ring(ReplicaId replica) { return rings_[ring_of_[replica]]; }
  void gather_all(Ring& ring, std::vector<OpId> after);
  void append_next(Ring& ring, RingCollective& collective, std::size_t bucket, std::vector<OpId> after,
                   std::uint32_t microbatch);

  LoweringState& state_;
  std::int64_t zero_;
  bool gathers_under_forwards_;
  OpId barrier_;  ///< the end of the iteration before
  std::vector<Ring> rings_;
  IndexVector<ReplicaId, std::size_t> ring_of_;  ///< `kNone` for replicas that divide nothing
  IndexVector<ReplicaId, char> has_weights_;     ///< in this iteration a forward has waited for those that are gathered
};

}  // namespace stagecraft
