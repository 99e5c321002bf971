#include "sim/schedule/list/fastest_list.hpp"

#include "sim/schedule/list/even_limits.hpp"
#include "sim/schedule/list/order_time.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kJudgedByList = 512;         ///< microbatches
constexpr std::int64_t kTriedOperations = 1 << 20;  ///< of all orders that are tried
constexpr std::int64_t kTriedLimits = 8;
constexpr std::int64_t kRules = 4;
constexpr double kFasterByList = 1.0 - 1e-9;  ///< an order is faster only by more than rounding

/// The limits on caps that are tried, increasing.
std::vector<std::int64_t> limits_of(const KeptPlan& kept, std::int64_t most, std::int64_t judged) {
  std::int64_t operations = 0;
  for (ReplicaId id : kept.replicas.all()) operations += 2 * kept.replicas.count(id, judged);
  const std::int64_t affordable = kTriedOperations / std::max<std::int64_t>(kRules * operations, 1);
  return even_limits(most, std::min(affordable, kTriedLimits));
}

ListRule limited(const std::vector<std::int64_t>& caps, std::int64_t limit, std::int64_t kind) {
  ListRule rule{kind / 2 == 1 ? Turn::Forward : Turn::Backward, kind % 2 == 1, caps};
  for (std::int64_t& cap : rule.caps) cap = std::min(cap, limit);
  return rule;
}

}  // namespace

std::optional<ListRule> fastest_list(const std::shared_ptr<const KeptPlan>& kept,
                                     const std::shared_ptr<const PipelineWork>& work,
                                     const std::vector<std::int64_t>& caps) {
  const std::int64_t all = kept->plan.microbatches;
  const std::int64_t judged = std::min(all, kJudgedByList);
  ListRule best;
  Seconds least = kNever;
  for (const std::int64_t limit : limits_of(*kept, std::ranges::max(caps), judged)) {
    for (std::int64_t kind = 0; kind < kRules; ++kind) {
      ListRule rule = limited(caps, limit, kind);
      const Seconds time = order_time(*kept, *work, order_by_list(kept, work, rule, judged), judged);
      if (time >= least * kFasterByList) continue;
      least = time;
      best = std::move(rule);
    }
  }
  if (judged < all) least = order_time(*kept, *work, order_by_list(kept, work, best, all), all);
  const Seconds by_rounds = order_time(*kept, *work, order_by_rounds(kept, caps, true), all);
  if (least >= by_rounds * kFasterByList) return std::nullopt;
  return best;
}

struct SharedOrders::State {
  std::shared_ptr<const KeptPlan> kept;
  std::shared_ptr<const PipelineWork> work;
  std::vector<std::int64_t> caps;
  std::once_flag once;
  std::optional<ListRule> rule;  ///< once it is chosen; none for rounds
};

SharedOrders::SharedOrders(std::shared_ptr<const KeptPlan> kept, std::shared_ptr<const PipelineWork> work,
                           std::vector<std::int64_t> caps)
    : state_(std::make_shared<State>()) {
  state_->kept = std::move(kept);
  state_->work = std::move(work);
  state_->caps = std::move(caps);
}

Schedule SharedOrders::operator()(Segment segment) const {
  if (segment.begin > 0) return Schedule{};
  State& state = *state_;
  std::call_once(state.once, [&] { state.rule = fastest_list(state.kept, state.work, state.caps); });
  if (!state.rule) return order_by_rounds(state.kept, state.caps, true);
  return order_by_list(state.kept, state.work, *state.rule, state.kept->plan.microbatches);
}

}  // namespace stagecraft
