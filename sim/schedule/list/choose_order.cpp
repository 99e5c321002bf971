#include "sim/schedule/list/choose_order.hpp"

#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/list/repeated_period.hpp"
#include "sim/schedule/measured_part.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kJudged = 512;       ///< microbatches by which a long run is judged, at least
constexpr std::int64_t kJudgedRounds = 16;  ///< or as many rounds of turns
constexpr std::int64_t kMostJudged = 4096;  ///< microbatches, at most
constexpr double kFaster = 1.0 - 1e-9;      ///< an order is faster only by more than rounding
constexpr std::int64_t kAllLimits = 32;     ///< up to which every smaller limit is tried

std::int64_t judged_microbatches(std::int64_t stride) {
  return std::clamp(kJudgedRounds * stride, kJudged, kMostJudged);
}

/// The largest limit below `limit` to try: any number up to `kAllLimits`, then each an eighth more than the one before.
std::int64_t smaller_limit(std::int64_t limit) {
  if (limit <= kAllLimits) return limit - 1;
  std::int64_t smaller = kAllLimits;
  while (smaller + smaller / 8 < limit) smaller += smaller / 8;
  return smaller;
}

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
        stride_(whole_round(kept->plan, kept->replicas)),
        judged_(synchronous ? std::min(kept->plan.microbatches, judged_microbatches(stride_))
                            : judged_microbatches(stride_)),
        trips_(round_trips(*kept, *work)) {}

  /// No order under the caps is faster, by Little's law.
  [[nodiscard]] Seconds bound(const std::vector<std::int64_t>& caps) const {
    Seconds most;
    for (StageId id : indices<StageId>(caps.size())) {
      const ReplicaId last = kept_->replicas.of(id).back();
      const Replica& own = kept_->replicas[last];
      const double count = synchronous_ ? static_cast<double>(kept_->replicas.count(last, kept_->plan.microbatches))
                                        : static_cast<double>(own.taken) / static_cast<double>(own.turns);
      most = std::max(most, trips_[id.value()] * (count / static_cast<double>(caps[id.value()])));
    }
    return most;
  }

  /// The time of an iteration, or of a microbatch in an asynchronous run.
  [[nodiscard]] Seconds time(const ListRule& rule) const {
    ListRun run(kept_, work_, rule, synchronous_, judged_);
    run.skip(judged_);
    const std::vector<Seconds>& ends = run.ends();
    if (!synchronous_) return repeated_period(ends, stride_).value_or(middle_period(ends));
    const Seconds whole = std::ranges::max(ends);
    const std::int64_t left = kept_->plan.microbatches - judged_;
    return left == 0 ? whole : whole + middle_period(ends) * static_cast<double>(left);
  }

 private:
  /// The time of a microbatch in the middle half of the judged run.
  [[nodiscard]] Seconds middle_period(const std::vector<Seconds>& ends) const {
    const std::int64_t first = judged_ / 4;
    const std::int64_t length = stride_ < judged_ / 2 ? judged_ / 2 / stride_ * stride_ : judged_ / 2;
    const Seconds span = ends[static_cast<std::size_t>(first + length)] - ends[static_cast<std::size_t>(first)];
    return span / static_cast<double>(length);
  }

  const std::shared_ptr<const KeptPlan>& kept_;
  const std::shared_ptr<const PipelineWork>& work_;
  bool synchronous_;
  std::int64_t stride_;
  std::int64_t judged_;
  std::vector<Seconds> trips_;
};

}  // namespace

ListRule choose_order(const std::shared_ptr<const KeptPlan>& kept, const std::shared_ptr<const PipelineWork>& work,
                      bool synchronous, std::int64_t most, const CapsUpTo& caps_up_to) {
  const Choice choice(kept, work, synchronous);
  ListRule best;
  Seconds least = kNever;
  std::vector<std::int64_t> last;
  for (std::int64_t limit = most; limit > 0; limit = smaller_limit(limit)) {
    std::vector<std::int64_t> caps = caps_up_to(limit);
    if (caps == last) continue;
    last = caps;
    if (choice.bound(caps) >= least) break;
    for (const Turn turn : {Turn::Strict, Turn::Backward, Turn::Forward}) {
      ListRule rule{.turn = turn, .caps = caps};
      const Seconds time = choice.time(rule);
      if (time >= least * kFaster) continue;
      least = time;
      best = std::move(rule);
    }
  }
  return best;
}

}  // namespace stagecraft
