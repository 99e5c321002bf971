#pragma once

#include "sim/schedule/list/input_board.hpp"
#include "sim/schedule/list/pipeline_work.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft {

/// How updates hold up the backwards of an asynchronous run, as in a lowered one (`Synchronise`): the first backward of
/// a replica after an update waits for the all-reduces before the update, and for the optimizer's step.
class UpdateBoard {
 public:
  /// **Requires** the work of `pipeline_work` with updates, and that `placed` and `work` outlive it and its copies.
  UpdateBoard(const PlacedPlan& placed, const PipelineWork& work);

  /// Whether no all-reduce holds up the backward at `now`. **Requires** that it is the replica's next one.
  [[nodiscard]] bool permits(const LocalWork& backward, Seconds now) const;
  /// When a backward begins that can start at `now`, on a device without work since `free`: the update before it may
  /// already have begun while the device waited for the backward's inputs.
  [[nodiscard]] Seconds begin(const LocalWork& backward, Seconds free, Seconds now) const;
  /// The backward ends. Returns when its device can go on, which is later where an update without exchange follows.
  [[nodiscard]] Seconds end(const LocalWork& backward, Seconds at);

  /// The replicas whose backwards an all-reduce begun by the last `end` holds up, and until when.
  [[nodiscard]] const std::vector<std::pair<Seconds, ReplicaId>>& released() const { return released_; }

 private:
  /// The exchange of gradients of the replicas that hold the same layers. No member is ahead of the next update.
  struct Exchange {
    std::size_t members = 0;         ///< that have had their last backward before the next update
    std::vector<Seconds> completed;  ///< by bucket: when those members have completed it
    std::int64_t updates = 0;
    Seconds end;  ///< of the last all-reduce
  };
  [[nodiscard]] const std::vector<std::size_t>& rings_of(ReplicaId id) const;
  [[nodiscard]] bool exchanges(ReplicaId id) const;
  [[nodiscard]] bool follows_exchange(const LocalWork& backward) const;
  [[nodiscard]] std::int64_t apart(ReplicaId id) const;
  void join(std::size_t ring);

  const PlacedPlan* placed_;
  const PipelineWork* work_;
  std::vector<Exchange> exchanges_;  ///< by ring
  std::vector<std::pair<Seconds, ReplicaId>> released_;
};

}  // namespace stagecraft
