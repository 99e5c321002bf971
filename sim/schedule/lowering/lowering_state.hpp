#pragma once

#include "sim/model/schedule.hpp"
#include "sim/schedule/lowering/device_lanes.hpp"
#include "sim/schedule/lowering/run_shape.hpp"
#include "sim/schedule/lowering/window_writer.hpp"
#include "sim/schedule/microbatch_board.hpp"

#include <cstdint>

namespace stagecraft {

/// What the parts that lower one plan share: its shape, the window in hand, and how far its replicas are.
///
/// Three numbers name a microbatch. Orders count it within the iteration (or from the plan's first one). A replica's
/// board counts those that it runs itself, over all iterations. Operations carry its number in the whole run.
class LoweringState {
 public:
  /// Announces the plan's stages and opens its devices' lanes. `first` is the number in the run of the plan's first
  /// microbatch; `orders` tells the devices' disciplines. `shape` and `writer` must outlive it.
  LoweringState(const RunShape& run_shape, WindowWriter& window_writer, std::int64_t first, const Schedule& orders);

  // NOLINTBEGIN(misc-non-private-member-variables-in-classes): the parts work on these themselves
  const RunShape& shape;
  WindowWriter& writer;
  DeviceLanes lanes;
  IndexVector<ReplicaId, MicrobatchBoard> boards;
  // NOLINTEND(misc-non-private-member-variables-in-classes)

  [[nodiscard]] const Replicas& replicas() const { return shape.replicas(); }
  /// In the whole run.
  [[nodiscard]] std::uint32_t number(std::int64_t microbatch) const {
    return static_cast<std::uint32_t>(first_ + iteration_ * shape.plan().microbatches + microbatch);
  }
  /// On the replica's board.
  [[nodiscard]] std::int64_t index(ReplicaId replica, std::uint32_t microbatch) const {
    return iteration_ * shape[replica].count + replicas().local(replica, microbatch);
  }
  /// The plan's stage, as the run numbers stages.
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
  void arrive(ReplicaId replica, std::int64_t index, OpId op, bool gradient);
  [[nodiscard]] OpId oldest() const;

 private:
  std::int64_t first_;
  StageId first_stage_;
  std::int64_t iteration_ = 0;
};

}  // namespace stagecraft
