#pragma once

#include "sim/schedule/lowering/joint_passes.hpp"
#include "sim/schedule/lowering/pass_writer.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {

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
  void begin_next_iteration() { joint_.begin_next_iteration(); }
  [[nodiscard]] OpId oldest() const;

 private:
  [[nodiscard]] PassTask task_of(std::size_t device, const Action& action) const {
    return stagecraft::task_of(state_, state_.shape.replica_on(device, action.stage), action);
  }
  [[nodiscard]] bool has_forward_inputs(const PassTask& task) const;
  [[nodiscard]] bool has_backward_inputs(const PassTask& task) const;
  [[nodiscard]] bool take_awaited(const PassTask& task, OpId& after);
  [[nodiscard]] bool lower_forward(const PassTask& task);
  [[nodiscard]] bool lower_backward(const PassTask& task, std::size_t position);
  [[nodiscard]] bool lower_backward_weight(const PassTask& task);
  [[nodiscard]] bool lower_jointly(const PassTask& task, std::size_t position);
  [[nodiscard]] bool lower_pair(const PassTask& first, const PassTask& second, std::size_t back_position);
  [[nodiscard]] bool lower_marks(std::size_t device, std::size_t begin, std::size_t end);

  void finish_steps(const PassTask& task, OpId op, std::vector<OpId> completes);
  void finish_forward(const PassTask& task, OpId op);
  void finish_backward(const PassTask& task, OpId op, std::vector<OpId> completes);

  LoweringState& state_;
  LoweringParts parts_;
  PassWriter passes_;
  JointPasses joint_;
  /// By replica and board index: the backwards that a forward will wait for; none until they are appended. An entry
  /// outlives the microbatch on the board, which forgets it at its end.
  std::vector<std::map<std::int64_t, OpId>> awaited_;
  std::optional<EndedBackward> ended_;
};

}  // namespace stagecraft
