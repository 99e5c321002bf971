#include "sim/analytic/representatives.hpp"

#include "sim/model/plan.hpp"
#include "sim/schedule/turn_programs.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

namespace stagecraft {
namespace {

/// The microbatches after which turns and memory actions repeat; `most` if there are no fewer.
std::int64_t repetition(const Plan& plan, std::int64_t round, std::int64_t most) {
  std::int64_t repeated = std::min(round, most);
  for (const Stage& stage : plan.stages) {
    if (window_of(stage) > most / round) return most;
    const std::int64_t own = round * window_of(stage);
    const std::int64_t times = own / std::gcd(own, repeated);
    if (times > most / repeated) return most;
    repeated *= times;
  }
  return repeated;
}

/// Splits kinds by what a further property says, and numbers them anew. `property`: of the i-th microbatch.
template <class Property>
void split(std::vector<std::uint32_t>& kind_of, const Property& property) {
  std::unordered_map<std::uint64_t, std::uint32_t> known;
  for (std::size_t i = 0; i < kind_of.size(); ++i) {
    const std::uint64_t key = std::uint64_t{kind_of[i]} << 32U | static_cast<std::uint32_t>(property(i));
    kind_of[i] = known.try_emplace(key, static_cast<std::uint32_t>(known.size())).first->second;
  }
}

}  // namespace

Representatives::Representatives(const Plan& plan, const Replicas& replicas, std::int64_t begin, std::int64_t end,
                                 std::int64_t round)
    : begin_(begin), end_(end), kind_of_(static_cast<std::size_t>(repetition(plan, round, end - begin))) {
  split(kind_of_, [&](std::size_t i) { return (begin + static_cast<std::int64_t>(i)) % round; });
  for (const StageId id : indices<StageId>(plan.stages.size())) {
    const Stage& stage = plan.stages[id.value()];
    if (covers_all(stage)) continue;
    const StageTurns turns = stage_turns(stage);
    split(kind_of_, [&](std::size_t i) {
      const auto microbatch = static_cast<std::uint32_t>(begin + static_cast<std::int64_t>(i));
      const std::span<const ReplicaId> runners = replicas.runners(id, microbatch);
      if (runners.empty()) return std::size_t{0};
      return turns.set_of[static_cast<std::size_t>(replicas.local(runners.front(), microbatch)) % turns.set_of.size()];
    });
  }
}

Representatives Representatives::of_iteration(const Plan& plan, const Replicas& replicas) {
  std::int64_t most_turns = 1;
  for (const ReplicaId id : replicas.all()) most_turns = std::max(most_turns, replicas[id].turns);
  if (2 * most_turns >= plan.microbatches) return Representatives(plan.microbatches);
  Representatives made(plan, replicas, most_turns, plan.microbatches - most_turns, round_of(replicas));
  made.take_first(0);
  return made;
}

Representatives Representatives::of_run(const Plan& plan, const Replicas& replicas, std::int64_t from,
                                        std::int64_t round) {
  Representatives made(plan, replicas, 0, plan.microbatches, round);
  made.take_first(from);
  return made;
}

void Representatives::take_first(std::int64_t from) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  const auto repeated = static_cast<std::int64_t>(kind_of_.size());
  for (std::int64_t i = 0; i < repeated; ++i) {
    const std::uint32_t kind = kind_of_[static_cast<std::size_t>(i)];
    first_.resize(std::max<std::size_t>(first_.size(), kind + 1), kNone);
    std::int64_t first = begin_ + i;
    if (first < from) first += (from - first + repeated - 1) / repeated * repeated;
    if (first >= end_) first = begin_ + i;
    first_[kind] = std::min(first_[kind], first);
  }
  last_ = std::ranges::max(first_);
}

std::vector<std::int64_t> Representatives::counts(std::int64_t microbatches) const {
  std::vector<std::int64_t> counts(first_.size());
  const auto repeated = static_cast<std::int64_t>(kind_of_.size());
  const std::int64_t end = std::min(microbatches, end_);
  for (std::int64_t i = 0; begin_ + i < end && i < repeated; ++i) {
    counts[kind_of_[static_cast<std::size_t>(i)]] += (end - begin_ - i + repeated - 1) / repeated;
  }
  return counts;
}

}  // namespace stagecraft
