#include "sim/schedule/list/order_time.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/list/input_board.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <vector>

namespace stagecraft {
namespace {

class StrictRun {
 public:
  StrictRun(const KeptPlan& kept, const PipelineWork& work, const Schedule& schedule, std::int64_t microbatches)
      : replicas_(kept.replicas),
        work_(work),
        schedule_(schedule),
        board_(kept, work, microbatches, InputRule::Tensors),
        ends_(kept.replicas.size()),
        next_(schedule.devices.size()),
        free_(schedule.devices.size()) {
    for (std::size_t at = 0; at < schedule.devices.size(); ++at) position_[schedule.devices[at].device] = at;
  }

  Seconds run() {
    for (std::size_t device = 0; device < next_.size(); ++device) waiting_.push_back(device);
    while (!waiting_.empty()) {
      const std::size_t device = waiting_.back();
      waiting_.pop_back();
      go_on(device);
    }
    for (std::size_t device = 0; device < next_.size(); ++device) {
      STAGECRAFT_CHECK(next_[device] == schedule_.devices[device].actions.size(), "orders do not deadlock");
    }
    return updated(exchanged());
  }

 private:
  /// Runs the device's operations up to one whose inputs are not known yet.
  void go_on(std::size_t device) {
    const std::vector<Action>& actions = schedule_.devices[device].actions;
    for (; next_[device] < actions.size(); ++next_[device]) {
      const Action& action = actions[next_[device]];
      const LocalWork work = work_of(schedule_.devices[device].device, action);
      if (action.kind == ActionKind::BackwardWeight) {  // behind its input half on the device
        free_[device] += work_.halves[work.replica].weight;
        ends_[work.replica] = free_[device];
        continue;
      }
      const Seconds arrival = board_.arrival(work);
      if (arrival == kNever) return;
      const bool is_half = action.kind == ActionKind::BackwardInput;
      const Seconds time = is_half ? work_.halves[work.replica].input : board_.time(work);
      free_[device] = std::max(free_[device], arrival) + time;
      if (work.backward) ends_[work.replica] = free_[device];
      for (const LocalWork& other : board_.end(work, free_[device])) {
        const std::size_t its = position_.at(replicas_[other.replica].device);
        if (its != device) waiting_.push_back(its);
      }
    }
  }

  [[nodiscard]] LocalWork work_of(DeviceId device, const Action& action) const {
    const std::span<const ReplicaId> on = replicas_.on(device);
    const auto found = std::ranges::find(on, action.stage, [&](ReplicaId id) { return replicas_[id].stage; });
    STAGECRAFT_CHECK(found != on.end(), "orders give a device work of its own stages");
    return {*found, replicas_.local(*found, action.microbatch), is_backward(action.kind)};
  }

  /// By ring: the end of its last all-reduce. They run one after the other, each when all members have its bucket.
  [[nodiscard]] std::vector<Seconds> exchanged() const {
    std::vector<std::vector<Seconds>> completed;  // by ring, by bucket
    for (const auto& buckets : work_.all_reduces) completed.emplace_back(buckets.size());
    for (ReplicaId id : replicas_.all()) {
      for (const auto& [bucket, before_end] : work_.updates[id].buckets) {
        if (completed[bucket.ring].empty()) continue;
        Seconds& last = completed[bucket.ring][bucket.bucket];
        last = std::max(last, ends_[id] - before_end);
      }
    }
    std::vector<Seconds> ends(completed.size());
    for (std::size_t ring = 0; ring < completed.size(); ++ring) {
      for (std::size_t k = 0; k < completed[ring].size(); ++k) {
        ends[ring] = std::max(ends[ring], completed[ring][k]) + work_.all_reduces[ring][k];
      }
    }
    return ends;
  }

  /// The end of the last update. Those of a device come after its last backward, in the order of the stages.
  [[nodiscard]] Seconds updated(const std::vector<Seconds>& exchanges) const {
    Seconds last;
    for (std::size_t device = 0; device < free_.size(); ++device) {
      Seconds end = free_[device];
      for (ReplicaId id : replicas_.on(schedule_.devices[device].device)) {
        for (std::size_t ring : replicas_.rings_of(replicas_[id].stage)) end = std::max(end, exchanges[ring]);
        end += work_.updates[id].update;
      }
      last = std::max(last, end);
    }
    return last;
  }

  const Replicas& replicas_;
  const PipelineWork& work_;
  const Schedule& schedule_;
  InputBoard board_;
  std::map<DeviceId, std::size_t> position_;
  IndexVector<ReplicaId, Seconds> ends_;  ///< of the last backward so far
  std::vector<std::size_t> next_;         ///< by device: its next operation
  std::vector<Seconds> free_;             ///< by device
  std::vector<std::size_t> waiting_;      ///< devices that may be able to go on
};

}  // namespace

Seconds order_time(const KeptPlan& kept, const PipelineWork& work, const Schedule& schedule,
                   std::int64_t microbatches) {
  return StrictRun(kept, work, schedule, microbatches).run();
}

}  // namespace stagecraft
