#include "sim/schedule/rounds.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace stagecraft {
namespace {

/// A replica's progress. It runs its forwards in the order of its microbatches, and so its backwards.
struct Progress {
  ReplicaId id;
  StageId stage;
  std::int64_t count = 0;  ///< number of its microbatches
  std::int64_t cap = 0;
  std::int64_t apart = 1;  ///< backwards from one update of an asynchronous run to the next
  std::int64_t forwards = 0;
  std::int64_t backwards = 0;
  std::size_t order = 0;  ///< position in Schedule::devices
};

class Rounds {
 public:
  Rounds(const KeptPlan& kept, const std::vector<std::int64_t>& in_flight, bool synchronous)
      : plan_(kept.plan), replicas_(kept.replicas) {
    std::map<DeviceId, std::size_t> order_of;
    for (ReplicaId id : replicas_.all()) {
      const Replica& replica = replicas_[id];
      const auto [found, is_new] = order_of.try_emplace(replica.device, schedule_.devices.size());
      if (is_new) schedule_.devices.push_back({replica.device, Discipline::Strict, {}});
      Progress worker{.id = id, .stage = replica.stage, .order = found->second};
      worker.count = replicas_.count(id, plan_.microbatches);
      worker.cap = in_flight[replica.stage.value()];
      worker.apart = replica.taken * plan_.rounds_per_update;
      workers_.push_back(worker);
    }
    by_order_.resize(schedule_.devices.size());
    for (ReplicaId id : replicas_.all()) by_order_[workers_[id].order].push_back(id);
    if (!synchronous) make_rings();
  }

  Schedule run() {
    std::vector<std::pair<ReplicaId, bool>> chosen;
    for (;;) {
      chosen.clear();
      for (const std::vector<ReplicaId>& workers : by_order_) choose(workers, chosen);
      if (chosen.empty()) break;
      for (const auto& [worker, backward] : chosen) advance(workers_[worker], backward);
    }
    for (const Progress& worker : workers_) {
      // The least unfinished microbatch can always go on: no earlier one is in flight, caps are at least 1, and the
      // waiting of asynchronous replicas is for earlier rounds of turns only.
      STAGECRAFT_CHECK(worker.backwards == worker.count, "every microbatch finishes within the caps");
    }
    return std::move(schedule_);
  }

 private:
  /// Asynchronous replicas of the same layers wait for one another before each update. Unless their turns repeat after
  /// as many microbatches, no order lets all of them finish; such plans are refused earlier.
  void make_rings() {
    ended_.resize(replicas_.rings().size());
    for (const Progress& worker : workers_) {
      for (std::size_t ring : replicas_.rings_of(worker.stage)) {
        const auto updates = static_cast<std::size_t>(worker.count / worker.apart);
        ended_[ring].resize(std::max(ended_[ring].size(), updates));
      }
    }
  }

  /// Whether every replica that runs the stage for the microbatch has finished its forward or backward.
  [[nodiscard]] bool is_done(StageId stage, std::uint32_t microbatch, bool backward) const {
    return std::ranges::all_of(replicas_.runners(stage, microbatch), [&](ReplicaId id) {
      return (backward ? workers_[id].backwards : workers_[id].forwards) > replicas_.local(id, microbatch);
    });
  }

  /// Whether the stages [begin, end) of the worker's pipeline are all done with the worker's next microbatch.
  [[nodiscard]] bool are_done(std::size_t begin, std::size_t end, const Progress& worker, bool backward) const {
    const std::uint32_t microbatch = next_of(worker, backward);
    for (std::size_t other = begin; other < end; ++other) {
      if (plan_.stages[other].pipeline != plan_.stages[worker.stage.value()].pipeline) continue;
      if (!is_done(StageId(other), microbatch, backward)) return false;
    }
    return true;
  }

  [[nodiscard]] std::uint32_t next_of(const Progress& worker, bool backward) const {
    return replicas_.microbatch(worker.id, backward ? worker.backwards : worker.forwards);
  }

  [[nodiscard]] bool can_forward(const Progress& worker) const {
    if (worker.forwards >= worker.count || worker.forwards - worker.backwards >= worker.cap) return false;
    return are_done(0, worker.stage.value(), worker, false);
  }

  [[nodiscard]] bool can_backward(const Progress& worker) const {
    if (worker.backwards >= worker.forwards) return false;
    if (!are_done(worker.stage.value() + std::size_t{1}, plan_.stages.size(), worker, true)) return false;
    const auto updates = static_cast<std::size_t>(worker.backwards / worker.apart);
    if (ended_.empty() || updates == 0) return true;
    return std::ranges::all_of(replicas_.rings_of(worker.stage), [&](std::size_t ring) {
      return ended_[ring][updates - 1] == replicas_.rings()[ring].members.size();
    });
  }

  void choose(const std::vector<ReplicaId>& workers, std::vector<std::pair<ReplicaId, bool>>& chosen) const {
    using Rank = std::tuple<bool, std::uint32_t, std::int64_t>;  // smaller is preferred
    bool found = false;
    Rank best;
    std::pair<ReplicaId, bool> choice;
    const auto propose = [&](ReplicaId id, bool backward) {
      const std::int64_t stage = workers_[id].stage.value();
      const Rank rank{!backward, next_of(workers_[id], backward), backward ? -stage : stage};
      if (found && rank >= best) return;
      found = true;
      best = rank;
      choice = {id, backward};
    };
    for (ReplicaId id : workers) {
      if (can_forward(workers_[id])) propose(id, false);
      if (can_backward(workers_[id])) propose(id, true);
    }
    if (found) chosen.push_back(choice);
  }

  void advance(Progress& worker, bool backward) {
    Action action;
    action.kind = backward ? ActionKind::Backward : ActionKind::Forward;
    action.stage = worker.stage;
    action.microbatch = next_of(worker, backward);
    std::int64_t& done = backward ? worker.backwards : worker.forwards;
    ++done;
    if (backward && !ended_.empty() && done % worker.apart == 0) {
      const auto update = static_cast<std::size_t>(done / worker.apart - 1);
      for (std::size_t ring : replicas_.rings_of(worker.stage)) ++ended_[ring][update];
    }
    schedule_.devices[worker.order].actions.push_back(action);
  }

  const Plan& plan_;
  const Replicas& replicas_;
  Schedule schedule_;
  IndexVector<ReplicaId, Progress> workers_;
  std::vector<std::vector<std::size_t>> ended_;   ///< by ring, by update: replicas with the backwards before it
  std::vector<std::vector<ReplicaId>> by_order_;  ///< workers of each device
};

}  // namespace

Schedule order_by_rounds(const KeptPlan& kept, const std::vector<std::int64_t>& in_flight, bool synchronous) {
  return Rounds(kept, in_flight, synchronous).run();
}

}  // namespace stagecraft
