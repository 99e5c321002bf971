#include "sim/schedule/shared/list_run.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/shared/input_board.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <queue>
#include <utility>

namespace stagecraft {
namespace {

class ListRun {
 public:
  ListRun(const KeptPlan& kept, const PipelineWork& work, const ListRule& rule, std::int64_t microbatches)
      : replicas_(kept.replicas),
        rule_(rule),
        row_(device_row(kept.replicas)),
        board_(kept, work, microbatches, InputRule::Chain),
        done_(kept.replicas.size()),
        free_(row_.devices.size()) {
    for (std::size_t device = 0; device < row_.devices.size(); ++device) {
      schedule_.devices.push_back({row_.devices[device], Discipline::Strict, {}});
      wakes_.emplace(Seconds(0), device);
    }
    if (rule.passes != Passes::Backwards) return;
    for (ReplicaId id : replicas_.all()) done_[id].forwards = board_.count(id);
  }

  Schedule run() {
    while (!wakes_.empty()) {
      const auto [now, device] = wakes_.top();
      wakes_.pop();
      if (free_[device] > now) continue;
      if (const std::optional<LocalWork> next = first_of(device, now)) start(*next, now);
    }
    for (ReplicaId id : replicas_.all()) {
      // The least unfinished microbatch can always go on: no earlier one is in flight, and every cap is at least 1.
      const std::int64_t done = rule_.passes == Passes::Forwards ? done_[id].forwards : done_[id].backwards;
      STAGECRAFT_CHECK(done == board_.count(id), "every microbatch finishes within the caps");
    }
    return std::move(schedule_);
  }

 private:
  struct Done {
    std::int64_t forwards = 0;
    std::int64_t backwards = 0;
  };
  using Rank = std::array<std::int64_t, 3>;      ///< smaller goes first
  using Wake = std::pair<Seconds, std::size_t>;  ///< when a device may be able to start something

  /// The operation that goes first of those on an idle device that are ready.
  [[nodiscard]] std::optional<LocalWork> first_of(std::size_t device, Seconds now) const {
    std::optional<LocalWork> best;
    Rank least{};
    const auto propose = [&](const LocalWork& work) {
      if (board_.arrival(work) > now) return;
      const Rank rank = rank_of(work);
      if (best && rank >= least) return;
      best = work;
      least = rank;
    };
    for (ReplicaId id : replicas_.on(row_.devices[device])) {
      const Done& done = done_[id];
      const bool has_room = done.forwards - done.backwards < rule_.caps[replicas_[id].stage.value()];
      if (has_room && done.forwards < board_.count(id)) propose({id, done.forwards, false});
      if (rule_.passes != Passes::Forwards && done.backwards < done.forwards) propose({id, done.backwards, true});
    }
    return best;
  }

  [[nodiscard]] Rank rank_of(const LocalWork& work) const {
    const auto stage = static_cast<std::int64_t>(replicas_[work.replica].stage.value());
    const std::int64_t microbatch = replicas_.microbatch(work.replica, work.local);
    const std::int64_t kind = work.backward == rule_.forward_first ? 1 : 0;
    if (rule_.deepest_first) return {kind, -stage, microbatch};
    return {kind, microbatch, work.backward ? -stage : stage};
  }

  void start(const LocalWork& work, Seconds now) {
    Action action;
    action.kind = work.backward ? ActionKind::Backward : ActionKind::Forward;
    action.stage = replicas_[work.replica].stage;
    action.microbatch = replicas_.microbatch(work.replica, work.local);
    const std::size_t device = row_.position[work.replica];
    schedule_.devices[device].actions.push_back(action);
    ++(work.backward ? done_[work.replica].backwards : done_[work.replica].forwards);
    free_[device] = now + board_.time(work);
    for (const LocalWork& next : board_.end(work, free_[device])) {
      wakes_.emplace(board_.arrival(next), row_.position[next.replica]);
    }
    wakes_.emplace(free_[device], device);
  }

  const Replicas& replicas_;
  const ListRule& rule_;
  DeviceRow row_;
  InputBoard board_;
  IndexVector<ReplicaId, Done> done_;  ///< started
  std::vector<Seconds> free_;          ///< by device
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
  Schedule schedule_;
};

}  // namespace

Schedule order_by_list(const KeptPlan& kept, const PipelineWork& work, const ListRule& rule,
                       std::int64_t microbatches) {
  return ListRun(kept, work, rule, microbatches).run();
}

Schedule order_by_phases(const KeptPlan& kept, const PipelineWork& work) {
  const std::int64_t microbatches = kept.plan.microbatches;
  ListRule rule{.caps = std::vector(kept.plan.stages.size(), microbatches), .passes = Passes::Forwards};
  Schedule orders = order_by_list(kept, work, rule, microbatches);
  rule.passes = Passes::Backwards;
  Schedule backwards = order_by_list(kept, work, rule, microbatches);
  for (std::size_t device = 0; device < orders.devices.size(); ++device) {
    std::ranges::move(backwards.devices[device].actions, std::back_inserter(orders.devices[device].actions));
  }
  return orders;
}

}  // namespace stagecraft
