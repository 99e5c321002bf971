#pragma once

#include "sim/schedule/gather_units.hpp"
#include "sim/schedule/lowering/delivery.hpp"
#include "sim/schedule/lowering/group_exchanges.hpp"
#include "sim/schedule/lowering/joint_passes.hpp"
#include "sim/schedule/lowering/live_switch.hpp"
#include "sim/schedule/lowering/orders.hpp"
#include "sim/schedule/lowering/swapping.hpp"
#include "sim/schedule/lowering/synchronise.hpp"
#include "sim/schedule/lowering/version_swapping.hpp"

#include <cstdint>
#include <map>
#include <optional>
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
  LiveSwitch& live;
};

/// Turns the actions of device orders into computations, following the replica's `StageProgram` step by step.
class Compute {
 public:
  /// The parts must outlive it.
  explicit Compute(const LoweringParts& parts);

  /// Notes the backwards that some forward of the segment waits for (`Action::after`).
  void take(const Schedule& schedule);
  /// Appends the action at `position` of the device's order if everything that it depends on has been appended. Returns
  /// whether it was.
  [[nodiscard]] bool lower(std::size_t device, std::size_t position);
  /// The backward that the last appended action completes, if it completes one.
  [[nodiscard]] const std::optional<EndedBackward>& ended() const { return ended_; }
  [[nodiscard]] OpId oldest() const;

 private:
  /// An action and the replica that it is for.
  struct Task {
    const Action& action;
    ReplicaId replica;
    std::int64_t index;  ///< on the replica's board
    MicrobatchBoard& board;
    const WorkerShape& worker;
    const StageProgram& program;
  };
  /// A backward of which some steps have been appended.
  struct Steps {
    const std::vector<BackwardStep>& all;
    const std::vector<StepExchanges>* exchanges;  ///< of a group that shares links; null for others
    OpId last;                                    ///< none before the first
    std::vector<OpId> completes;                  ///< what completes each bucket of gradients
  };
  /// A pass that is being appended together with those of other replicas.
  struct Together {
    Task task;
    OpId after;             ///< a backward that a forward waits for
    Op op;                  ///< a forward
    ExchangePart exchange;  ///< at its end
    std::optional<Steps> steps;
    OpId last;
  };
  [[nodiscard]] Task task_of(std::size_t device, const Action& action) const {
    const ReplicaId replica = state_.shape.replica_on(device, action.stage);
    const WorkerShape& worker = state_.worker(replica, action.microbatch, is_backward(action.kind));
    const StageProgram& program = worker.work.programs.of(state_.replicas().local(replica, action.microbatch));
    return {action, replica, state_.index(replica, action.microbatch), state_.boards[replica], worker, program};
  }
  [[nodiscard]] bool has_forward_inputs(const Task& task) const;
  [[nodiscard]] bool has_backward_inputs(const Task& task) const;
  [[nodiscard]] bool take_awaited(const Task& task, OpId& after);
  [[nodiscard]] bool lower_forward(const Task& task);
  [[nodiscard]] bool lower_backward(const Task& task, std::size_t position);
  [[nodiscard]] bool lower_backward_weight(const Task& task);
  [[nodiscard]] bool lower_jointly(const Task& task, std::size_t position);
  void append_together(const std::vector<ArrivedPass>& passes);
  void append_unit(Together& pass, const GatherUnit& unit, OpId weights);
  void reduce_after_unit(const std::vector<Together>& passes, std::size_t before);
  [[nodiscard]] bool lower_pair(const Task& first, const Task& second, std::size_t back_position);
  [[nodiscard]] bool lower_mark(const Task& task);

  OpId append(const Task& task, const Op& op);
  OpId append_next(const Task& task, const Op& op, OpId before);
  OpId append_exchange(const Task& task, const ExchangePart& part, OpId before);
  [[nodiscard]] std::pair<Op, ExchangePart> forward_of(const Task& task) const;
  [[nodiscard]] Seconds part_of_forward(const Task& task, std::size_t k, Seconds whole) const;
  OpId append_part(const Task& task, Op op, std::size_t k, OpId weights, OpId after);
  OpId append_forward(const Task& task, Op op, OpId after);
  [[nodiscard]] const std::vector<BackwardStep>& steps_of(const Task& task, bool ends_weights) const;
  [[nodiscard]] Steps begin_steps(const Task& task) const;
  void append_step(const Task& task, Steps& steps, std::size_t at, OpId weights);
  [[nodiscard]] Steps append_steps(const Task& task);
  void finish_steps(const Task& task, OpId op, std::vector<OpId> completes);
  void depend_on_backward_inputs(const Task& task);
  void depend_on_copy_back(const Task& task, const BackwardStep& step);
  void finish_forward(const Task& task, OpId op);
  void finish_backward(const Task& task, OpId op, std::vector<OpId> completes);
  void free_after(const Task& task, const BackwardStep& step, bool whole);
  [[nodiscard]] Bytes left_for_weight(Bytes bytes) const;

  LoweringState& state_;
  LoweringParts parts_;
  GroupExchanges group_exchanges_;
  JointPasses joint_;
  /// By replica and board index: the backwards that a forward will wait for; none until they are appended. An entry
  /// outlives the microbatch on the board, which forgets it at its end.
  std::vector<std::map<std::int64_t, OpId>> awaited_;
  std::optional<EndedBackward> ended_;
};

}  // namespace stagecraft
