#include "sim/schedule/shared_orders.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

/// A replica's progress in a phase. It runs its microbatches in their order.
struct PhaseWorker {
  std::size_t device = 0;
  std::int64_t count = 0;
  std::int64_t started = 0;
  std::vector<std::uint32_t> missing;  ///< by microbatch of the replica: inputs that are not sent yet
  std::vector<Seconds> inputs;         ///< likewise: when the last input arrived, of those sent
};

/// The forwards of a plan, or its backwards.
class Phase {
 public:
  Phase(const KeptPlan& kept, const PipelineWork& work, bool backward, Schedule& schedule)
      : replicas_(kept.replicas),
        work_(work),
        backward_(backward),
        schedule_(schedule),
        sent_(kept.plan.stages.size()),
        free_(schedule.devices.size()),
        workers_of_(schedule.devices.size()) {
    std::vector<std::uint32_t> inputs(kept.plan.stages.size());
    for (std::size_t i = 0; i < work.crossings.size(); ++i) {
      const Crossing& crossing = work.crossings[i];
      const StageId from = backward ? crossing.to : crossing.from;
      const StageId to = backward ? crossing.from : crossing.to;
      sent_[from.value()].push_back(i);
      inputs[to.value()] += static_cast<std::uint32_t>(replicas_.runners_of_each(from));
    }
    std::map<DeviceId, std::size_t> position;
    for (std::size_t d = 0; d < schedule.devices.size(); ++d) position[schedule.devices[d].device] = d;
    for (ReplicaId id : replicas_.all()) {
      const std::int64_t count = replicas_.count(id, kept.plan.microbatches);
      const auto all = static_cast<std::size_t>(count);
      const std::size_t device = position.at(replicas_[id].device);
      const std::uint32_t missing = inputs[replicas_[id].stage.value()];
      workers_.push_back({device, count, 0, std::vector<std::uint32_t>(all, missing), std::vector<Seconds>(all)});
      workers_of_[device].push_back(id);
      if (missing == 0) wakes_.emplace(Seconds(0), device);
    }
  }

  /// Appends the phase's operations to the devices' orders.
  void run() {
    while (!wakes_.empty()) {
      const auto [now, device] = wakes_.top();
      wakes_.pop();
      if (free_[device] > now) continue;
      if (const std::optional<ReplicaId> id = next(device, now)) start(*id, now);
    }
    for (const PhaseWorker& worker : workers_) {
      STAGECRAFT_CHECK(worker.started == worker.count, "every operation of a phase is run");
    }
  }

 private:
  using Wake = std::pair<Seconds, std::size_t>;  ///< when a device may be able to start something

  /// The replica on the device whose next operation is ready and goes first.
  [[nodiscard]] std::optional<ReplicaId> next(std::size_t device, Seconds now) const {
    std::optional<ReplicaId> best;
    std::pair<std::uint32_t, std::int64_t> least;
    for (ReplicaId id : workers_of_[device]) {
      const PhaseWorker& worker = workers_[id];
      const auto at = static_cast<std::size_t>(worker.started);
      if (worker.started >= worker.count || worker.missing[at] > 0 || worker.inputs[at] > now) continue;
      const auto stage = static_cast<std::int64_t>(replicas_[id].stage.value());
      const std::pair rank(replicas_.microbatch(id, worker.started), backward_ ? -stage : stage);
      if (best && rank >= least) continue;
      best = id;
      least = rank;
    }
    return best;
  }

  void start(ReplicaId id, Seconds now) {
    PhaseWorker& worker = workers_[id];
    Action action;
    action.kind = backward_ ? ActionKind::Backward : ActionKind::Forward;
    action.stage = replicas_[id].stage;
    action.microbatch = replicas_.microbatch(id, worker.started++);
    schedule_.devices[worker.device].actions.push_back(action);
    const BlockTimes& times = work_.computations[id];
    const Seconds end = now + (backward_ ? times.backward : times.forward);
    free_[worker.device] = end;
    for (const std::size_t crossing : sent_[action.stage.value()]) send(work_.crossings[crossing], id, action, end);
    wakes_.emplace(end, worker.device);
  }

  void send(const Crossing& crossing, ReplicaId id, const Action& action, Seconds end) {
    const std::span<const ReplicaId> from = replicas_.of(crossing.from);
    const std::span<const ReplicaId> to = replicas_.of(crossing.to);
    for (ReplicaId other : replicas_.runners(backward_ ? crossing.from : crossing.to, action.microbatch)) {
      const std::size_t sender = (backward_ ? other : id).value() - from.front().value();
      const std::size_t receiver = (backward_ ? id : other).value() - to.front().value();
      const std::size_t pair = sender * to.size() + receiver;
      const BlockTimes& times = crossing.times[pair];
      arrive(other, action.microbatch, end + (backward_ ? times.backward : times.forward));
    }
  }

  void arrive(ReplicaId id, std::uint32_t microbatch, Seconds at) {
    PhaseWorker& worker = workers_[id];
    const auto local = static_cast<std::size_t>(replicas_.local(id, microbatch));
    worker.inputs[local] = std::max(worker.inputs[local], at);
    if (--worker.missing[local] == 0) wakes_.emplace(worker.inputs[local], worker.device);
  }

  const Replicas& replicas_;
  const PipelineWork& work_;
  bool backward_;
  Schedule& schedule_;
  std::vector<std::vector<std::size_t>> sent_;  ///< by stage, in `PipelineWork::crossings`
  std::vector<Seconds> free_;                   ///< by device
  std::vector<std::vector<ReplicaId>> workers_of_;
  IndexVector<ReplicaId, PhaseWorker> workers_;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
};

}  // namespace

Schedule order_by_phases(const KeptPlan& kept, const PipelineWork& work) {
  Schedule schedule;
  for (ReplicaId id : kept.replicas.all()) {
    const DeviceId device = kept.replicas[id].device;
    const bool is_known =
        std::ranges::any_of(schedule.devices, [&](const DeviceOrder& o) { return o.device == device; });
    if (!is_known) schedule.devices.push_back({device, Discipline::Strict, {}});
  }
  Phase(kept, work, false, schedule).run();
  Phase(kept, work, true, schedule).run();
  return schedule;
}

}  // namespace stagecraft
