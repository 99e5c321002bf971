#include "sim/schedule/device_peaks.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "sim/schedule/pattern.hpp"
#include "sim/schedule/stage_program.hpp"

#include <algorithm>
#include <map>

namespace stagecraft {
namespace {

using Peaks = std::vector<std::pair<DeviceId, Bytes>>;

constexpr std::int64_t kSegment = 1024;  ///< microbatches in a segment of orders

/// Follows the memory of a device through its actions, one after the other. The changes must be the same as those that
/// lowering gives the operations (`Compute`).
class DeviceWalk {
 public:
  void run(const StageProgram& work, const Action& action, const Training& training) {
    switch (action.kind) {
      case ActionKind::Forward:
        held_ += work.stash();
        touch(work.workspace);
        break;
      case ActionKind::Backward:
        for (const BackwardStep& step : work.backward) take(step, Bytes(0));
        break;
      case ActionKind::BackwardInput:
        for (const BackwardStep& step : work.backward) take(step, left_by(step, training));
        break;
      case ActionKind::BackwardWeight: end_weight(work, training); break;
      default: break;
    }
  }

  /// A forward and a backward that run as one operation.
  void run_pair(const StageProgram& forward, const StageProgram& backward) {
    held_ += forward.stash();
    Bytes workspace = forward.workspace;
    for (const BackwardStep& step : backward.backward) workspace += step.restored;
    touch(workspace);
    held_ -= backward.stash();
  }

  [[nodiscard]] Bytes held() const { return held_; }
  [[nodiscard]] Bytes peak() const { return peak_; }

 private:
  static Bytes left_by(const BackwardStep& step, const Training& training) {
    return left_by_input_half(step.released, training) + left_by_input_half(step.freed, training);
  }
  /// A step that leaves some of its memory to the weight half.
  void take(const BackwardStep& step, Bytes left) {
    held_ += step.restored;
    touch(step.workspace);
    held_ -= step.released + step.freed - left;
  }
  void end_weight(const StageProgram& work, const Training& training) {
    Bytes workspace;
    for (const BackwardStep& step : work.backward) workspace = std::max(workspace, step.workspace);
    touch(workspace);
    for (const BackwardStep& step : work.backward) held_ -= left_by(step, training);
  }
  void touch(Bytes workspace) { peak_ = std::max(peak_, held_ + workspace); }

  Bytes held_;
  Bytes peak_;
};

class Ledger {
 public:
  Ledger(const LayerGraph& graph, const ScheduleProgram& program)
      : plan_(program.kept->plan), program_(program), replicas_(program.kept->replicas), work_(*program.kept->work) {
    for (const ReplicaId id : replicas_.all()) {
      kept_[replicas_[id].device] += static_memory(graph, *program.kept, program.weight_versions, id).total();
    }
  }

  [[nodiscard]] bool swaps() const {
    for (const StageId stage : indices<StageId>(plan_.stages.size())) {
      if (moves_versions(plan_.stages[stage.value()], program_.weight_versions[stage.value()])) return true;
      const auto has_swaps = [](const StageProgram& one) { return !one.swapped.empty(); };
      const ReplicaId id = replicas_.of(stage).front();  // the others swap the same layers
      if (std::ranges::any_of(work_[id].programs.different(), has_swaps)) return true;
    }
    return false;
  }
  [[nodiscard]] bool is_alike() const {
    return std::ranges::all_of(plan_.stages, [](const Stage& stage) { return covers_all(stage); });
  }

  /// Peaks from the counts alone. **Requires** `is_alike`, and `ScheduleProgram::reaches_in_flight`: every replica is
  /// alone on its device, and at some point runs a backward with its largest number of microbatches in flight.
  [[nodiscard]] Peaks by_count() const {
    Peaks peaks;
    for (DeviceId device : replicas_.devices()) {
      const ReplicaId id = replicas_.on(device).front();
      const std::int64_t count = replicas_.count(id, plan_.microbatches);
      const std::int64_t in_flight = std::min(program_.in_flight[replicas_[id].stage.value()], count);
      Bytes peak = kept_.at(device) + work_[id].programs.stashes(in_flight);
      if (count > 0) peak += work_[id].programs.workspace();
      peaks.emplace_back(device, peak);
    }
    return peaks;
  }

  /// Peaks from walking the whole orders.
  [[nodiscard]] Peaks by_walk() const {
    std::map<DeviceId, DeviceWalk> walks;
    for (std::int64_t begin = 0; begin < plan_.microbatches;) {
      const std::int64_t end = program_.at_once ? plan_.microbatches : std::min(begin + kSegment, plan_.microbatches);
      for (const DeviceOrder& order : program_.orders({begin, end}).devices) walk(order, walks[order.device]);
      begin = end;
    }
    Peaks peaks;
    for (DeviceId device : replicas_.devices()) peaks.emplace_back(device, kept_.at(device) + walks[device].peak());
    return peaks;
  }

 private:
  void walk(const DeviceOrder& order, DeviceWalk& device) const {
    for (std::size_t i = 0; i < order.actions.size(); ++i) {
      const Action& action = order.actions[i];
      const StageProgram& work = work_on(order.device, action);
      if (i + 1 == order.actions.size() || !order.actions[i + 1].joined) {
        device.run(work, action, plan_.training);
        continue;
      }
      const StageProgram& other = work_on(order.device, order.actions[++i]);
      const bool forward_first = action.kind == ActionKind::Forward;
      device.run_pair(forward_first ? work : other, forward_first ? other : work);
    }
  }

  [[nodiscard]] const StageProgram& work_on(DeviceId device, const Action& action) const {
    const std::span<const ReplicaId> replicas = replicas_.on(device);
    const auto found = std::ranges::find(replicas, action.stage, [&](ReplicaId id) { return replicas_[id].stage; });
    STAGECRAFT_CHECK(found != replicas.end(), "orders give a device work of its own stages");
    return work_[*found].programs.of(replicas_.local(*found, action.microbatch));
  }

  const Plan& plan_;
  const ScheduleProgram& program_;
  const Replicas& replicas_;
  const PlanWork& work_;
  std::map<DeviceId, Bytes> kept_;  ///< static memory of each device
};

/// Whether a run of the pattern is long enough to reach its steady state.
bool is_long(const Plan& plan, const Pattern& pattern) {
  std::int64_t last_shift = 0;
  for (const PatternOperation& operation : pattern.operations) last_shift = std::max(last_shift, operation.shift);
  return plan.microbatches > last_shift;
}

}  // namespace

std::optional<Peaks> device_peaks(const LayerGraph& graph, const ScheduleProgram& program) {
  if (!program.strict || program.orders_are_given) return std::nullopt;
  const Ledger ledger(graph, program);
  if (ledger.swaps()) return std::nullopt;
  if (program.reaches_in_flight && ledger.is_alike()) return ledger.by_count();
  if (program.pattern && is_long(program.kept->plan, *program.pattern)) return pattern_peaks(graph, program);
  return ledger.by_walk();
}

SplitMemory split_memory(const TurnPrograms& programs, const Training& training) {
  SplitMemory memory;
  for (const StageProgram& program : programs.different()) {
    DeviceWalk walk;
    for (const ActionKind kind : {ActionKind::Forward, ActionKind::BackwardInput, ActionKind::BackwardWeight}) {
      Action action;
      action.kind = kind;
      walk.run(program, action, training);
      memory.each = std::max(memory.each, walk.held());
    }
    memory.one = std::max(memory.one, walk.peak());
  }
  return memory;
}

}  // namespace stagecraft
