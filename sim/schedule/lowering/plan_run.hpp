#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/schedule.hpp"
#include "sim/schedule/lowering/compute.hpp"
#include "sim/schedule/lowering/live_plan.hpp"
#include "sim/schedule/lowering/measured_marks.hpp"
#include "sim/schedule/lowering/saves.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "sim/schedule/network_model.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// A plan's part of a run: its microbatches, and their orders.
struct PlanTask {
  ScheduleProgram program;
  std::int64_t first = 0;                   ///< the number in the run of its first microbatch
  std::int64_t iterations = 1;              ///< number of iterations of a synchronous schedule
  std::optional<Schedule> literal;          ///< the orders of one iteration, if the user gives them
  std::vector<Seconds> channel_times = {};  ///< `LowerOptions::channel_times`
  bool lowered_all_reduces = false;         ///< `LowerOptions::lowered_all_reduces`
  Checkpoints checkpoints = {};
};

/// Lowers one plan, from one microbatch of the run on. It asks the plan's schedule for orders segment by segment, and
/// lets each device lower one action per round. An operation is appended only after everything that it depends on, so
/// every window continues a run that could take place in the order of the numbers.
class PlanRun {
 public:
  /// All but `task` must outlive it.
  PlanRun(const LayerGraph& graph, const Platform& platform, PlanTask task, NetworkModel network, WindowWriter& writer,
          MeasuredMarks& marks);

  /// Lowers a little more: one round of actions, or the end of an iteration. Returns whether anything is left.
  [[nodiscard]] bool advance();

  /// The least microbatch of the run that another plan may start with: no action of it or of a later one has been
  /// lowered, and before it a round of turns or an iteration ends.
  [[nodiscard]] std::int64_t earliest_stop() const;
  /// The microbatches of a round of turns, or of an iteration.
  [[nodiscard]] std::int64_t whole() const;
  /// The first microbatch of the run, from that one on, before which a round of turns or an iteration ends.
  [[nodiscard]] std::int64_t whole_from(std::int64_t microbatch) const;
  /// Ends the plan before that microbatch of the run, so that it drains: what has been started is completed, and
  /// nothing else is begun. **Requires** a microbatch not below `earliest_stop`, at which a round of turns or an
  /// iteration ends.
  void stop_at(std::int64_t microbatch);

  /// The least microbatch of the run that a plan may begin with while this one goes on.
  [[nodiscard]] std::int64_t earliest_live() const;
  /// Goes over to the program's plan, whose forwards begin with that microbatch of the run or a later one, while
  /// training goes on. Returns the reason if the plan has to drain instead, and changes nothing then.
  /// **Requires** a plan for as many microbatches as this one's, a microbatch not below `earliest_live`, at which a
  /// round of turns ends, and that no other plan is being gone over to.
  [[nodiscard]] std::string go_over_to(ScheduleProgram next, std::int64_t microbatch);
  [[nodiscard]] const LiveSwitch& live() const { return live_; }
  [[nodiscard]] const ScheduleProgram& program() const { return task_.program; }

  /// The least microbatch of the run with a pass, or with the end of its iteration, that has not been lowered.
  [[nodiscard]] std::int64_t first_left() const;

  /// Appends the updates of the last rounds of replicated stages, which else come before the next backwards.
  /// **Requires** that the plan is lowered, and that another one follows.
  void append_last_updates();
  /// Tells the engine which lanes no later window will use. **Requires** that no other plan follows.
  void close_lanes();
  /// Whether the engine chooses among ready operations and the plan still has actions: then everything that may compete
  /// has to be in one window.
  [[nodiscard]] bool needs_whole_iteration() const;
  /// Whether times follow from one pass over the operations (see `OpSource::one_pass`).
  [[nodiscard]] bool is_one_pass() const;
  /// The least operation that any operation still to come may depend on.
  [[nodiscard]] OpId oldest() const;

  [[nodiscard]] const RunShape& shape() const { return state_.last_shape(); }
  [[nodiscard]] LoweringState& state() { return state_; }
  /// The memory that each of the plan's devices keeps from the start.
  [[nodiscard]] std::map<DeviceId, StaticMemory> kept_memory() const {
    return stagecraft::kept_memory(shape(), task_.program.weight_versions);
  }
  /// The operations after whose ends the device is done with this plan. **Requires** that the plan is lowered.
  [[nodiscard]] std::vector<OpId> last_on(DeviceId device) const;

 private:
  [[nodiscard]] Schedule next_segment();
  void take(const Schedule& schedule);
  [[nodiscard]] bool has_segments() const { return segment_begin_ < end_; }
  [[nodiscard]] bool lower(std::size_t device, std::size_t position);
  [[nodiscard]] bool end_iteration();

  PlanTask task_;
  RunShape shape_;                  ///< that the plan begins with
  std::int64_t end_;                ///< microbatches of an iteration, or of this plan's part of the run
  std::int64_t segment_begin_ = 0;  ///< the first microbatch of the next segment
  MeasuredMarks& marks_;
  Schedule first_;  ///< the first segment, until it is taken
  LoweringState state_;
  Orders orders_;
  Delivery delivery_;
  HostCopies copies_;
  Swapping swapping_;
  VersionSwapping versions_;
  DividedState divided_;
  Synchronise synchronise_;
  Saves saves_;
  LiveSwitch live_;
  Compute compute_;
};

}  // namespace stagecraft
