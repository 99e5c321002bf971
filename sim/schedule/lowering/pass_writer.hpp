#pragma once

#include "sim/schedule/lowering/delivery.hpp"
#include "sim/schedule/lowering/divided_state.hpp"
#include "sim/schedule/lowering/group_exchanges.hpp"
#include "sim/schedule/lowering/live_switch.hpp"
#include "sim/schedule/lowering/orders.hpp"
#include "sim/schedule/lowering/swapping.hpp"
#include "sim/schedule/lowering/synchronise.hpp"
#include "sim/schedule/lowering/version_swapping.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft {

/// The parts of lowering that an action of a device's order may involve.
struct LoweringParts {
  LoweringState& state;
  const Orders& orders;
  Delivery& delivery;
  Swapping& swapping;
  VersionSwapping& versions;
  Synchronise& synchronise;
  DividedState& divided;
  LiveSwitch& live;
};

/// An action and the replica that it is for.
struct PassTask {
  const Action& action;
  ReplicaId replica;
  std::int64_t index;  ///< on the replica's board
  MicrobatchBoard& board;
  const WorkerShape& worker;
  const StageProgram& program;
};

/// `action` must outlive it.
[[nodiscard]] PassTask task_of(LoweringState& state, ReplicaId replica, const Action& action);

/// A backward of which some steps have been appended.
struct BackwardSteps {
  const std::vector<BackwardStep>& all;
  const std::vector<StepExchanges>* exchanges;  ///< of a group that shares links; null for others
  OpId last;                                    ///< none before the first
  std::vector<OpId> completes;                  ///< what completes each bucket of gradients
};

[[nodiscard]] Seconds seconds_or(const Action& action, Seconds nominal);

/// Appends the computations of passes whose inputs have been appended: of a forward its parts, of a backward its steps.
class PassWriter {
 public:
  /// The parts must outlive it.
  explicit PassWriter(const LoweringParts& parts);

  OpId append(const PassTask& task, const Op& op);
  /// Appends an operation that follows `before` at once, if there is one: nothing else may run between them.
  OpId append_next(const PassTask& task, const Op& op, OpId before);
  /// Appends what the members of a group exchange after `before`, if they do. Returns the last operation.
  OpId append_exchange(const PassTask& task, const ExchangePart& part, OpId before);

  /// A forward without what a group exchanges at its end, and that.
  [[nodiscard]] std::pair<Op, ExchangePart> forward_of(const PassTask& task) const;
  /// Appends a forward: one operation, or one for each bucket of weights that are missing. It waits for the backward
  /// `after`. Returns the last one.
  OpId append_forward(const PassTask& task, const Op& whole, OpId after);
  /// Appends the k-th part of a whole forward, which also waits for its bucket of weights. The first one waits for the
  /// inputs of the whole, and for the backward `after`.
  OpId append_part(const PassTask& task, const Op& whole, std::size_t k, OpId weights, OpId after);

  /// The steps of a backward. If weight gradients end with it that are exchanged next, they end where a bucket of them
  /// is complete; where weights are gathered for it, where a bucket of these is needed no longer.
  [[nodiscard]] const std::vector<BackwardStep>& steps_of(const PassTask& task, bool ends_weights) const;
  [[nodiscard]] BackwardSteps begin_steps(const PassTask& task) const;
  /// Appends a step of a backward, after its recompute if the plan has one; the first of both waits for `weights` too.
  void append_step(const PassTask& task, BackwardSteps& steps, std::size_t at, OpId weights);
  /// Appends a backward step by step, from the last layer to the first. The caller may still add memory changes to the
  /// last operation.
  [[nodiscard]] BackwardSteps append_steps(const PassTask& task);
  void depend_on_copy_back(const PassTask& task, const BackwardStep& step);
  [[nodiscard]] Bytes left_for_weight(Bytes bytes) const;

 private:
  OpId append_forward_op(const PassTask& task, const Op& op, OpId weights, OpId after);
  [[nodiscard]] Seconds part_of_forward(const PassTask& task, std::size_t k, Seconds whole) const;
  void depend_on_backward_inputs(const PassTask& task);
  void free_after(const PassTask& task, const BackwardStep& step, bool whole);

  LoweringState& state_;
  Swapping& swapping_;
  VersionSwapping& versions_;
  Synchronise& synchronise_;
  DividedState& divided_;
  LiveSwitch& live_;
  GroupExchanges group_exchanges_;
};

}  // namespace stagecraft
