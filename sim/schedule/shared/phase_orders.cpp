#include "sim/schedule/shared/phase_orders.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/shared/input_board.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

/// The forwards of a plan, or its backwards. A replica runs its microbatches in their order.
class Phase {
 public:
  Phase(const KeptPlan& kept, const PipelineWork& work, const DeviceRow& row, bool backward)
      : replicas_(kept.replicas),
        row_(row),
        backward_(backward),
        board_(kept, work, kept.plan.microbatches, InputRule::Chain),
        started_(kept.replicas.size()),
        free_(row.devices.size()) {
    for (std::size_t device = 0; device < row.devices.size(); ++device) wakes_.emplace(Seconds(0), device);
  }

  /// Appends the phase's operations to the devices' orders.
  void run(Schedule& schedule) {
    while (!wakes_.empty()) {
      const auto [now, device] = wakes_.top();
      wakes_.pop();
      if (free_[device] > now) continue;
      if (const std::optional<ReplicaId> id = next(device, now)) start(*id, now, schedule);
    }
    for (ReplicaId id : replicas_.all()) {
      STAGECRAFT_CHECK(started_[id] == board_.count(id), "every operation of a phase is run");
    }
  }

 private:
  using Wake = std::pair<Seconds, std::size_t>;  ///< when a device may be able to start something

  /// The replica on the device whose next operation is ready and goes first.
  [[nodiscard]] std::optional<ReplicaId> next(std::size_t device, Seconds now) const {
    std::optional<ReplicaId> best;
    std::pair<std::uint32_t, std::int64_t> least;
    for (ReplicaId id : replicas_.on(row_.devices[device])) {
      const LocalWork work{id, started_[id], backward_};
      if (work.local >= board_.count(id) || board_.arrival(work) > now) continue;
      const auto stage = static_cast<std::int64_t>(replicas_[id].stage.value());
      const std::pair rank(replicas_.microbatch(id, work.local), backward_ ? -stage : stage);
      if (best && rank >= least) continue;
      best = id;
      least = rank;
    }
    return best;
  }

  void start(ReplicaId id, Seconds now, Schedule& schedule) {
    const LocalWork work{id, started_[id]++, backward_};
    Action action;
    action.kind = backward_ ? ActionKind::Backward : ActionKind::Forward;
    action.stage = replicas_[id].stage;
    action.microbatch = replicas_.microbatch(id, work.local);
    const std::size_t device = row_.position[id];
    schedule.devices[device].actions.push_back(action);
    free_[device] = now + board_.time(work);
    for (const LocalWork& other : board_.end(work, free_[device])) {
      wakes_.emplace(board_.arrival(other), row_.position[other.replica]);
    }
    wakes_.emplace(free_[device], device);
  }

  const Replicas& replicas_;
  const DeviceRow& row_;
  bool backward_;
  InputBoard board_;
  IndexVector<ReplicaId, std::int64_t> started_;
  std::vector<Seconds> free_;  ///< by device
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
};

}  // namespace

Schedule order_by_phases(const KeptPlan& kept, const PipelineWork& work) {
  const DeviceRow row = device_row(kept.replicas);
  Schedule schedule;
  for (DeviceId device : row.devices) schedule.devices.push_back({device, Discipline::Strict, {}});
  Phase(kept, work, row, false).run(schedule);
  Phase(kept, work, row, true).run(schedule);
  return schedule;
}

}  // namespace stagecraft
