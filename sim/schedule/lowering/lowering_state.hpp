#pragma once

#include "sim/model/schedule.hpp"
#include "sim/schedule/lowering/device_lanes.hpp"
#include "sim/schedule/lowering/run_shape.hpp"
#include "sim/schedule/lowering/window_writer.hpp"
#include "sim/schedule/microbatch_board.hpp"

#include <cstdint>

namespace stagecraft {

/// The state that all parts of lowering share for one plan: its shape, the window writer, the device lanes, and a board
/// for each replica.
///
/// A microbatch has three numbers. Orders count it within the iteration, or in an asynchronous run from the plan's
/// first microbatch (`microbatch`). A replica's board counts the microbatches that the replica runs itself, over all
/// iterations (`index`). Operations carry its number in the whole run (`number`).
class LoweringState {
 public:
  /// Announces the plan's stages and opens its devices' lanes. `first` is the number in the run of the plan's first
  /// microbatch; `orders` gives the devices' disciplines. `run_shape` and `window_writer` must outlive it.
  LoweringState(const RunShape& run_shape, WindowWriter& window_writer, std::int64_t first, const Schedule& orders);

  // NOLINTBEGIN(misc-non-private-member-variables-in-classes): the parts change these directly
  const RunShape& shape;
  WindowWriter& writer;
  DeviceLanes lanes;
  IndexVector<ReplicaId, MicrobatchBoard> boards;
  // NOLINTEND(misc-non-private-member-variables-in-classes)

  [[nodiscard]] const Replicas& replicas() const { return shape.replicas(); }
  /// The microbatch's number in the whole run.
  [[nodiscard]] std::uint32_t number(std::int64_t microbatch) const {
    return static_cast<std::uint32_t>(first_ + iteration_ * shape.plan().microbatches + microbatch);
  }
  /// The microbatch's index on the replica's board.
  [[nodiscard]] std::int64_t index(ReplicaId replica, std::uint32_t microbatch) const {
    return iteration_ * shape[replica].count + replicas().local(replica, microbatch);
  }
  /// The number in the run of a stage of the plan.
  [[nodiscard]] StageId run_stage(StageId stage) const { return StageId(first_stage_.value() + stage.value()); }
  [[nodiscard]] std::int64_t first() const { return first_; }
  [[nodiscard]] std::int64_t iteration() const { return iteration_; }
  void begin_next_iteration();

  /// A computation of the replica, without its time.
  [[nodiscard]] Op computation(ReplicaId replica, OpKind kind, std::uint32_t microbatch) const;
  OpId append_computation(ReplicaId replica, const Op& op, std::int32_t priority, Seconds not_before) {
    return lanes.append(shape.device_index(replica), op, priority, not_before);
  }
  [[nodiscard]] bool is_on_ready_lane(ReplicaId replica) const { return lanes.is_ready(shape.device_index(replica)); }
  /// Enters `op` on the replica's board as an operation that its forward, or with `gradient` its backward, waits for.
  void arrive(ReplicaId replica, std::int64_t index, OpId op, bool gradient) {
    if (gradient) {
      boards[replica].arrive_backward(index, op);
    } else {
      boards[replica].arrive_forward(index, op);
    }
  }
  [[nodiscard]] OpId oldest() const;

 private:
  std::int64_t first_;
  StageId first_stage_;
  std::int64_t iteration_ = 0;
};

}  // namespace stagecraft
