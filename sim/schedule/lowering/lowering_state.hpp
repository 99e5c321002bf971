#pragma once

#include "sim/model/schedule.hpp"
#include "sim/schedule/lowering/device_lanes.hpp"
#include "sim/schedule/lowering/run_shape.hpp"
#include "sim/schedule/lowering/window_writer.hpp"
#include "sim/schedule/microbatch_board.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace stagecraft {

/// The microbatches whose passes follow a shape that replaces the one before: those from these numbers on, counted as
/// in the orders.
struct ShapeBegin {
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  std::int64_t forwards = 0;
  std::int64_t backwards = 0;
  bool announces = true;  ///< whether the shape has stages of its own in the run
};

/// The state that all parts of lowering share for one plan: its shape, the window writer, the device lanes, and a board
/// for each replica.
///
/// A microbatch has three numbers. Orders count it within the iteration, or in an asynchronous run from the plan's
/// first microbatch (`microbatch`). A replica's board counts the microbatches that the replica runs itself, over all
/// iterations (`index`). Operations carry its number in the whole run (`number`).
///
/// While layers migrate, a plan has several shapes, one after the other. They differ in what the stages hold, and agree
/// in all else: replicas, devices, turns. The microbatch tells which one a pass follows, and its forward may follow
/// another than its backward.
class LoweringState {
 public:
  /// Announces the plan's stages and opens its devices' lanes. `first` is the number in the run of the plan's first
  /// microbatch; `orders` gives the devices' disciplines. `run_shape` and `window_writer` must outlive it.
  LoweringState(const RunShape& run_shape, WindowWriter& window_writer, std::int64_t first, const Schedule& orders);

  // NOLINTBEGIN(misc-non-private-member-variables-in-classes): the parts change these directly
  const RunShape& shape;  ///< the first one
  WindowWriter& writer;
  DeviceLanes lanes;
  IndexVector<ReplicaId, MicrobatchBoard> boards;
  /// Strict if the tensors that one device sends another become ready in the order in which they are appended: their
  /// sender keeps an order, and nothing else holds them back.
  Discipline connections = Discipline::Strict;
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
  /// The shape that the microbatch's forwards follow, or with `gradient` its backwards.
  [[nodiscard]] const RunShape& shape_at(std::uint32_t microbatch, bool gradient) const {
    return *era_of(microbatch, gradient).shape;
  }
  /// The replica's work for the microbatch's forward, or with `gradient` for its backward.
  [[nodiscard]] const WorkerShape& worker(ReplicaId replica, std::uint32_t microbatch, bool gradient) const {
    return shape_at(microbatch, gradient)[replica];
  }
  [[nodiscard]] const RunShape& last_shape() const { return *eras_.back().shape; }
  /// The number in the run of a stage of the plan, as its microbatch's forward names it.
  [[nodiscard]] StageId run_stage(StageId stage, std::uint32_t microbatch) const {
    return StageId(era_of(microbatch, false).first_stage.value() + stage.value());
  }
  /// Passes follow another shape, from those microbatches on.
  void add_shape(std::unique_ptr<const RunShape> next, const ShapeBegin& begin);
  /// Forgets all shapes but the last one, and the first one for what they agree in.
  void keep_last_shape();
  [[nodiscard]] std::int64_t first() const { return first_; }
  [[nodiscard]] std::int64_t iteration() const { return iteration_; }
  void begin_next_iteration();

  /// A computation of the replica, without its time.
  [[nodiscard]] Op computation(ReplicaId replica, OpKind kind, std::uint32_t microbatch) const;
  OpId append_computation(ReplicaId replica, const Op& op, std::int32_t priority, Seconds not_before) {
    return lanes.append(shape.device_index(replica), op, priority, not_before);
  }
  [[nodiscard]] bool is_on_ready_lane(ReplicaId replica) const { return lanes.is_ready(shape.device_index(replica)); }
  /// The next action of the replica's device waits for an input that no operation brings yet.
  void await_input(ReplicaId replica) { awaits_input_[shape.device_index(replica)] = 1; }
  /// Whether that is so, and no input of any replica on the device has arrived since.
  [[nodiscard]] bool awaits_input(std::size_t device) const { return awaits_input_[device] != 0; }
  /// The next actions of devices may have changed, or what they wait for.
  void await_nothing() { std::ranges::fill(awaits_input_, 0); }
  /// Enters `op` on the replica's board as an operation that its forward, or with `gradient` its backward, waits for.
  void arrive(ReplicaId replica, std::int64_t index, OpId op, bool gradient) {
    awaits_input_[shape.device_index(replica)] = 0;
    if (gradient) {
      boards[replica].arrive_backward(index, op);
    } else {
      boards[replica].arrive_forward(index, op);
    }
  }
  [[nodiscard]] OpId oldest() const;

 private:
  struct Era {
    const RunShape* shape = nullptr;
    std::unique_ptr<const RunShape> own;  ///< the shape, except for the first one
    ShapeBegin begin;
    StageId first_stage;  ///< the number in the run of the plan's first stage
  };
  [[nodiscard]] const Era& era_of(std::uint32_t microbatch, bool gradient) const {
    auto era = eras_.rbegin();
    while ((gradient ? era->begin.backwards : era->begin.forwards) > microbatch) ++era;
    return *era;
  }
  [[nodiscard]] StageId announce_stages();

  std::int64_t first_;
  std::vector<Era> eras_;
  std::vector<char> awaits_input_;  ///< by device
  std::int64_t iteration_ = 0;
};

}  // namespace stagecraft
