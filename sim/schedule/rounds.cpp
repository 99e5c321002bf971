#include "sim/schedule/rounds.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/ranks.hpp"
#include "sim/schedule/schedule_info.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace stagecraft {
namespace {

/// A replica's progress: it runs its microbatches in order, forwards and backwards alike.
struct Progress {
  StageId stage;
  std::int64_t replica = 0;
  std::int64_t replicas = 1;  ///< alternating
  std::int64_t count = 0;     ///< its microbatches
  std::int64_t cap = 0;
  std::int64_t forwards = 0;
  std::int64_t backwards = 0;
  std::size_t order = 0;  ///< position in Schedule::devices
  std::size_t group = 0;  ///< position in `groups_`; of asynchronous schedules

  [[nodiscard]] std::int64_t microbatch(std::int64_t local) const {
    return replicas == 1 ? local : local * replicas + replica;
  }
};

/// Replicas that hold the same layers.
struct Group {
  std::int64_t replicas = 0;
  std::vector<std::int64_t> ended = {};  ///< replicas that are through with their k-th microbatch
};

class Rounds {
 public:
  Rounds(const Plan& plan, Preference preference, std::int64_t (*in_flight)(const Plan&, StageId))
      : plan_(plan), preference_(preference) {
    std::map<DeviceId, std::size_t> order_of;
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      const Stage& stage = plan.stages[s];
      first_of_.push_back(workers_.size());
      for (std::size_t r = 0; r < stage.devices.size(); ++r) {
        const auto [found, is_new] = order_of.try_emplace(stage.devices[r], schedule_.devices.size());
        if (is_new) schedule_.devices.push_back({stage.devices[r], Discipline::Strict, {}});
        const auto replica = static_cast<std::int64_t>(r);
        workers_.push_back({StageId(s), replica, alternating_replicas(stage),
                            microbatches_of(stage, replica, plan.microbatches), in_flight(plan, StageId(s)), 0, 0,
                            found->second});
      }
    }
    by_order_.resize(schedule_.devices.size());
    for (std::size_t w = 0; w < workers_.size(); ++w) by_order_[workers_[w].order].push_back(w);
    find_groups();
  }

  Schedule run() {
    std::vector<std::pair<std::size_t, bool>> chosen;
    for (;;) {
      chosen.clear();
      for (const std::vector<std::size_t>& workers : by_order_) choose(workers, chosen);
      if (chosen.empty()) break;
      for (const auto& [worker, backward] : chosen) advance(workers_[worker], backward);
    }
    for (const Progress& worker : workers_) {
      // The least microbatch that is not through can always go on: nothing before it is in flight, caps are 1 or more,
      // and rounds wait only for microbatches before it.
      STAGECRAFT_CHECK(worker.backwards == worker.count, "every microbatch finishes within the caps");
    }
    return std::move(schedule_);
  }

 private:
  /// Asynchronous replicas of the same layers wait for one another: see `Lowering::note_round`. Where their rounds
  /// differ in length nothing runs to its end, whatever the order: such plans are refused before they run.
  void find_groups() {
    const ScheduleInfo* schedule = find_schedule(plan_.schedule.name);
    if (schedule == nullptr || schedule->synchronous) return;
    std::map<std::pair<std::vector<LayerId>, std::int64_t>, std::size_t> group_of;
    for (Progress& worker : workers_) {
      const std::pair key{plan_.stages[worker.stage.value()].layers, worker.replicas};
      worker.group = group_of.try_emplace(key, groups_.size()).first->second;
      if (worker.group == groups_.size()) groups_.emplace_back();
      Group& group = groups_[worker.group];
      ++group.replicas;
      if (std::ssize(group.ended) < worker.count) group.ended.resize(static_cast<std::size_t>(worker.count));
    }
  }

  /// Whether every replica of the stage that runs the microbatch has done so.
  [[nodiscard]] bool is_done(std::size_t stage, std::int64_t microbatch, bool backward) const {
    const Stage& other = plan_.stages[stage];
    const std::int64_t replicas = alternating_replicas(other);
    for (std::size_t r = 0; r < other.devices.size(); ++r) {
      if (replicas > 1 && microbatch % replicas != static_cast<std::int64_t>(r)) continue;
      const Progress& worker = workers_[first_of_[stage] + r];
      if ((backward ? worker.backwards : worker.forwards) <= microbatch / replicas) return false;
    }
    return true;
  }

  [[nodiscard]] bool can_forward(const Progress& worker) const {
    if (worker.forwards >= worker.count || worker.forwards - worker.backwards >= worker.cap) return false;
    const std::size_t stage = worker.stage.value();
    const std::int64_t microbatch = worker.microbatch(worker.forwards);
    for (std::size_t earlier = 0; earlier < stage; ++earlier) {
      if (plan_.stages[earlier].pipeline == plan_.stages[stage].pipeline && !is_done(earlier, microbatch, false)) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] bool can_backward(const Progress& worker) const {
    if (worker.backwards >= worker.forwards) return false;
    const std::size_t stage = worker.stage.value();
    const std::int64_t microbatch = worker.microbatch(worker.backwards);
    for (std::size_t later = stage + 1; later < plan_.stages.size(); ++later) {
      if (plan_.stages[later].pipeline == plan_.stages[stage].pipeline && !is_done(later, microbatch, true)) {
        return false;
      }
    }
    if (groups_.empty() || worker.backwards == 0) return true;
    const Group& group = groups_[worker.group];
    return group.ended[static_cast<std::size_t>(worker.backwards - 1)] == group.replicas;
  }

  void choose(const std::vector<std::size_t>& workers, std::vector<std::pair<std::size_t, bool>>& chosen) const {
    using Rank = std::tuple<bool, std::int64_t, std::int64_t>;  // smaller is preferred
    bool found = false;
    Rank best;
    std::pair<std::size_t, bool> choice;
    const auto propose = [&](std::size_t index, bool backward) {
      const Progress& worker = workers_[index];
      const std::int64_t stage = worker.stage.value();
      const Rank rank{backward != (preference_ == Preference::BackwardsFirst),
                      worker.microbatch(backward ? worker.backwards : worker.forwards), backward ? -stage : stage};
      if (found && rank >= best) return;
      found = true;
      best = rank;
      choice = {index, backward};
    };
    for (std::size_t index : workers) {
      if (can_forward(workers_[index])) propose(index, false);
      if (can_backward(workers_[index])) propose(index, true);
    }
    if (found) chosen.push_back(choice);
  }

  void advance(Progress& worker, bool backward) {
    std::int64_t& done = backward ? worker.backwards : worker.forwards;
    Action action;
    action.kind = backward ? ActionKind::Backward : ActionKind::Forward;
    action.stage = worker.stage;
    if (backward && !groups_.empty()) ++groups_[worker.group].ended[static_cast<std::size_t>(done)];
    action.microbatch = static_cast<std::uint32_t>(worker.microbatch(done++));
    schedule_.devices[worker.order].actions.push_back(action);
  }

  const Plan& plan_;
  Preference preference_;
  Schedule schedule_;
  std::vector<Progress> workers_;
  std::vector<Group> groups_;                       ///< none if synchronous
  std::vector<std::size_t> first_of_;               ///< by stage
  std::vector<std::vector<std::size_t>> by_order_;  ///< workers of each device
};

}  // namespace

Schedule order_by_rounds(const Plan& plan, Preference preference,
                         std::int64_t (*in_flight)(const Plan& plan, StageId stage)) {
  return Rounds(plan, preference, in_flight).run();
}

}  // namespace stagecraft
