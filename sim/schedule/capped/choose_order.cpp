#include "sim/schedule/capped/choose_order.hpp"

#include "sim/schedule/kept_plan.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kJudged = 512;       ///< microbatches by which a long run is judged, at least
constexpr std::int64_t kJudgedRounds = 16;  ///< or as many rounds of turns
constexpr std::int64_t kMostJudged = 4096;  ///< microbatches, at most
constexpr double kFaster = 1.0 - 1e-9;      ///< an order is faster only by more than rounding

/// By stage: the least time for which a microbatch is in flight there, transfers apart.
std::vector<Seconds> round_trips(const KeptPlan& kept, const PipelineWork& work) {
  const std::vector<Stage>& stages = kept.plan.stages;
  std::vector<Seconds> trips(stages.size());
  for (StageId id : indices<StageId>(stages.size())) {
    Seconds own = kNever;
    for (ReplicaId replica : kept.replicas.of(id)) own = std::min(own, work.computations[replica].total());
    for (std::size_t before = 0; before <= id.value(); ++before) {
      if (stages[before].pipeline == stages[id.value()].pipeline) trips[before] += own;
    }
  }
  return trips;
}

class Choice {
 public:
  Choice(const std::shared_ptr<const KeptPlan>& kept, const std::shared_ptr<const PipelineWork>& work, bool synchronous)
      : kept_(kept),
        work_(work),
        synchronous_(synchronous),
        stride_(kept->replicas.round()),
        judged_(std::min(kept->plan.microbatches, std::clamp(kJudgedRounds * stride_, kJudged, kMostJudged))),
        trips_(round_trips(*kept, *work)) {}

  /// The least time of a run under the caps, by Little's law.
  [[nodiscard]] Seconds bound(const std::vector<std::int64_t>& caps) const {
    Seconds most;
    for (StageId id : indices<StageId>(caps.size())) {
      const auto count = kept_->replicas.count(kept_->replicas.of(id).back(), kept_->plan.microbatches);
      most = std::max(most, trips_[id.value()] * (static_cast<double>(count) / static_cast<double>(caps[id.value()])));
    }
    return most;
  }

  [[nodiscard]] Seconds time(const CappedOrder& order) const {
    CappedRun run(kept_, work_, order, synchronous_, judged_);
    static_cast<void>(run.take(judged_));
    const std::vector<Seconds>& ends = run.ends();
    const std::int64_t first = judged_ / 4;
    const std::int64_t length = stride_ < judged_ / 2 ? judged_ / 2 / stride_ * stride_ : judged_ / 2;
    const Seconds whole = std::ranges::max(ends);
    if (length == 0) return whole;
    const Seconds span = ends[static_cast<std::size_t>(first + length)] - ends[static_cast<std::size_t>(first)];
    const Seconds period = span / static_cast<double>(length);
    const std::int64_t all = kept_->plan.microbatches;
    return synchronous_ ? whole + period * static_cast<double>(all - judged_) : period * static_cast<double>(all);
  }

 private:
  const std::shared_ptr<const KeptPlan>& kept_;
  const std::shared_ptr<const PipelineWork>& work_;
  bool synchronous_;
  std::int64_t stride_;
  std::int64_t judged_;
  std::vector<Seconds> trips_;
};

}  // namespace

CappedOrder choose_order(const std::shared_ptr<const KeptPlan>& kept, const std::shared_ptr<const PipelineWork>& work,
                         bool synchronous, std::int64_t most, const CapsUpTo& caps_up_to) {
  const Choice choice(kept, work, synchronous);
  CappedOrder best;
  Seconds least = kNever;
  std::vector<std::int64_t> last;
  for (std::int64_t limit = most; limit > 0; --limit) {
    std::vector<std::int64_t> caps = caps_up_to(limit);
    if (caps == last) continue;
    last = caps;
    if (choice.bound(caps) >= least) break;
    for (CappedRule rule : {CappedRule::InTurn, CappedRule::BackwardFirst, CappedRule::ForwardFirst}) {
      CappedOrder order{rule, caps};
      const Seconds time = choice.time(order);
      if (time >= least * kFaster) continue;
      least = time;
      best = std::move(order);
    }
  }
  return best;
}

}  // namespace stagecraft
