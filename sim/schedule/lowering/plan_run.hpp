#pragma once

#include "sim/schedule/lower.hpp"
#include "sim/schedule/lowering/compute.hpp"
#include "sim/schedule/lowering/measured_marks.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace stagecraft {

/// What a plan is to run, and from where on.
struct PlanTask {
  Plan plan;
  ScheduleProgram program;
  std::int64_t first = 0;           ///< the number in the run of its first microbatch
  std::int64_t iterations = 1;      ///< of a synchronous schedule
  std::optional<Schedule> literal;  ///< orders that are given, of one iteration
};

/// Lowers one plan, from one microbatch of the run on: asks its schedule for orders segment by segment, and lets each
/// device lower its next action in turn. Operations are numbered in an order in which each could be the next to start
/// if all took one round, so every window is a prefix of a feasible run.
class PlanRun {
 public:
  /// All but `task` must outlive it.
  PlanRun(const LayerGraph& graph, const Platform& platform, PlanTask task, NetworkModel network, WindowWriter& writer,
          MeasuredMarks& marks);

  /// Lowers a little more; whether there was anything left.
  [[nodiscard]] bool advance();
  /// Appends the operation that takes what the plan keeps in memory from the start of the run.
  void append_setup();

  /// The least number in the run of a microbatch that another plan may start with: none from it on has been lowered,
  /// and the plan's turns, or its iteration, end there.
  [[nodiscard]] std::int64_t earliest_stop() const;
  /// The plan ends before that microbatch. **Requires** one that is not below `earliest_stop` and at which a round of
  /// turns or an iteration ends.
  void stop_at(std::int64_t microbatch);

  /// Closes lanes that no later window will use. **Requires** that no other plan follows.
  void close_lanes();
  /// Whether order depends on time, so that everything that may compete has to be in one window.
  [[nodiscard]] bool needs_whole_iteration() const;
  /// Whether times follow from one pass over the operations (see `OpSource::one_pass`).
  [[nodiscard]] bool is_one_pass() const;
  [[nodiscard]] OpId oldest() const;

  [[nodiscard]] const RunShape& shape() const { return shape_; }
  [[nodiscard]] LoweringState& state() { return state_; }
  /// Bytes that each of the plan's devices keeps from the start.
  [[nodiscard]] std::map<DeviceId, StaticMemory> kept_memory() const;
  /// The operations of this plan after which a device is done with it. **Requires** that the plan is lowered.
  [[nodiscard]] std::vector<OpId> last_on(DeviceId device) const;

 private:
  [[nodiscard]] Schedule next_segment();
  void take(const Schedule& schedule);
  [[nodiscard]] bool has_segments() const { return segment_begin_ < end_; }
  [[nodiscard]] bool lower(std::size_t device, std::size_t position);
  [[nodiscard]] bool end_iteration();
  [[nodiscard]] bool is_over(std::size_t device) const;

  PlanTask task_;
  RunShape shape_;
  std::int64_t end_;                ///< microbatches of an iteration, or of this plan's part of the run
  std::int64_t segment_begin_ = 0;  ///< the first microbatch of the next segment
  MeasuredMarks& marks_;
  Schedule first_;  ///< the first segment, until it is taken
  LoweringState state_;
  Orders orders_;
  Delivery delivery_;
  Swapping swapping_;
  Synchronise synchronise_;
  Compute compute_;
};

}  // namespace stagecraft
