#include "sim/schedule/list/fastest_halves.hpp"

#include "sim/schedule/list/even_limits.hpp"
#include "sim/schedule/one_f_one_b.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kJudgedForEach = 4;  ///< microbatches
constexpr std::int64_t kLeastJudged = 64;
constexpr std::int64_t kHalvesRules = 36;
constexpr std::int64_t kHalvesOperations = 1 << 21;  ///< of all orders that are run for the limits
constexpr double kShorter = 1.0 - 1e-9;              ///< an order is faster only by more than rounding

/// The microbatches by which orders within the caps are judged: enough for a part in which no stage fills up or drains.
std::int64_t judged_microbatches(const Plan& plan, const std::vector<std::int64_t>& caps) {
  const std::int64_t deepest = std::max<std::int64_t>(std::ssize(plan.stages), std::ranges::max(caps));
  return std::min(plan.microbatches, std::max(kLeastJudged, kJudgedForEach * deepest));
}

/// The forwards before the first backward: those of 1F1B, of eager 1F1B, and all that the caps allow.
std::vector<std::vector<std::int64_t>> warmups_within(const Plan& plan, const std::vector<std::int64_t>& caps) {
  std::vector<std::vector<std::int64_t>> all;
  for (const std::int64_t eagerness : {1, 2}) {
    std::vector<std::int64_t>& own = all.emplace_back(largest_warmups(plan, eagerness));
    for (std::size_t s = 0; s < own.size(); ++s) own[s] = std::min(own[s] + 1, caps[s]);
  }
  all.push_back(caps);
  std::ranges::sort(all);
  const auto repeated = std::ranges::unique(all);
  all.erase(repeated.begin(), repeated.end());
  return all;
}

/// The time of a run whose first microbatches end so. Each of the others takes as long as those in the middle.
Seconds whole_time(const std::vector<Seconds>& ends, std::int64_t microbatches) {
  const std::size_t judged = ends.size();
  const Seconds own = std::ranges::max(ends);
  const auto left = static_cast<double>(microbatches) - static_cast<double>(judged);
  if (left == 0.0) return own;
  const std::size_t first = judged / 4;
  const std::size_t last = judged - 1 - judged / 4;
  return own + (ends[last] - ends[first]) * (left / static_cast<double>(last - first));
}

}  // namespace

ListRule fastest_halves(const std::shared_ptr<const KeptPlan>& kept, const std::shared_ptr<const PipelineWork>& work,
                        const std::vector<std::int64_t>& caps) {
  const Plan& plan = kept->plan;
  const std::int64_t judged = judged_microbatches(plan, caps);
  ListRule best;
  Seconds least = kNever;
  const auto attempt = [&](Turn turn, const Halves& halves) {
    ListRule rule{.turn = turn, .caps = caps, .halves = halves};
    ListRun run(kept, work, rule, true, judged);
    run.skip(judged);
    const Seconds time = whole_time(run.ends(), plan.microbatches);
    if (time >= least * kShorter) return;
    least = time;
    best = std::move(rule);
  };
  for (const std::vector<std::int64_t>& warmups : warmups_within(plan, caps)) {
    for (const Turn turn : {Turn::Alternating, Turn::Forward}) {
      for (const double gap : {0.0, 0.5, 1.0}) {
        for (const bool fill_at_end : {false, true}) attempt(turn, {warmups, gap, fill_at_end});
      }
    }
  }
  return best;
}

std::vector<std::vector<std::int64_t>> tried_halves(const Plan& plan, const std::vector<std::int64_t>& caps) {
  const std::int64_t most = std::ranges::max(caps);
  const std::int64_t operations = 3 * judged_microbatches(plan, caps) * std::ssize(plan.stages);
  std::vector<std::int64_t> limits = even_limits(most, kHalvesOperations / (kHalvesRules * operations));
  limits.push_back(std::min(most, std::ranges::max(largest_warmups(plan)) + 1));
  std::ranges::sort(limits);
  const auto repeated = std::ranges::unique(limits);
  limits.erase(repeated.begin(), repeated.end());
  std::vector<std::vector<std::int64_t>> tried;
  for (const std::int64_t limit : limits) {
    std::vector<std::int64_t>& own = tried.emplace_back(caps);
    for (std::int64_t& cap : own) cap = std::min(cap, limit);
  }
  return tried;
}

}  // namespace stagecraft
