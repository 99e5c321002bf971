#pragma once

#include "sim/model/plan.hpp"
#include "sim/schedule/replica_programs.hpp"
#include "sim/schedule/stage_program.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace stagecraft {

/// Which sets of memory actions the microbatches of a stage have. The sets of a window of microbatches repeat in the
/// next one; a window has one microbatch unless some action covers only a part of them (`Covered`).
struct StageTurns {
  std::vector<std::size_t> set_of;  ///< by position in the window
  std::vector<std::int64_t> first;  ///< of each set: the first position that has it
};
[[nodiscard]] StageTurns stage_turns(const Stage& stage);
/// The stage with those actions that cover the microbatch.
[[nodiscard]] Stage stage_at(const Stage& stage, std::int64_t local);

/// The programs of a replica for its microbatches, which it counts from 0 (`Replicas::local`).
class TurnPrograms {
 public:
  /// **Shape** a program for each set.
  TurnPrograms(std::vector<std::size_t> set_of, std::vector<StageProgram> programs);

  [[nodiscard]] const StageProgram& of(std::int64_t local) const { return programs_[set_of(local)]; }
  /// The position in `different` of the microbatch's program.
  [[nodiscard]] std::size_t set_of(std::int64_t local) const {
    return set_of_.size() == 1 ? 0 : set_of_[static_cast<std::size_t>(local) % set_of_.size()];
  }
  [[nodiscard]] const std::vector<StageProgram>& different() const { return programs_; }
  /// `set_of` by position in the window.
  [[nodiscard]] const std::vector<std::size_t>& sets() const { return set_of_; }
  [[nodiscard]] const StageProgram& first() const { return programs_.front(); }

  /// Their parts that are the same for all microbatches.
  [[nodiscard]] Seconds forward() const { return programs_.front().forward; }
  [[nodiscard]] Bytes parameters() const { return programs_.front().parameters; }
  /// The part of them that an expert group divides.
  [[nodiscard]] Bytes experts() const { return programs_.front().experts; }
  /// The mean of a window.
  [[nodiscard]] Seconds mean_backward() const;
  /// Of the first `microbatches`, forwards and backwards together.
  [[nodiscard]] Seconds time(std::int64_t microbatches) const;
  /// The most that the stashes of `in_flight` successive microbatches take.
  [[nodiscard]] Bytes stashes(std::int64_t in_flight) const;
  /// The most that any microbatch needs on top of its stash, in its forward or its backward.
  [[nodiscard]] Bytes workspace() const;

 private:
  std::vector<std::size_t> set_of_;
  std::vector<StageProgram> programs_;
};

/// The programs of a group, as `with_exchanges` of each.
[[nodiscard]] TurnPrograms with_exchanges(const TurnPrograms& programs,
                                          const std::function<Seconds(const std::vector<Exchange>&)>& time_of);

/// `ReplicaPrograms` of a stage for all its sets of memory actions.
class ReplicaTurns {
 public:
  /// **Requires** that graph and platform outlive it.
  ReplicaTurns(const LayerGraph& graph, const Platform& platform, const Stage& stage, const StageBuckets& buckets = {});

  /// As the function of `ReplicaPrograms`.
  [[nodiscard]] TurnPrograms of(DeviceId device, const Share& share);
  [[nodiscard]] TurnPrograms memory_of(DeviceId device, const Share& share);

 private:
  std::vector<std::size_t> set_of_;
  std::deque<Stage> stages_;  ///< of each set; `programs_` refer to them
  std::vector<ReplicaPrograms> programs_;
};

}  // namespace stagecraft
