#include "experiments/run/replan_policy.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace stagecraft {
namespace {

/// The time of a stage for a microbatch, from the passes that it has finished; none without any.
std::optional<double> time_of(const StageObservation& seen) {
  if (seen.forwards == 0 || seen.backwards == 0) return std::nullopt;
  const auto each = [](Seconds sum, std::int64_t count) {
    return count > 0 ? sum.value() / static_cast<double>(count) : 0.0;
  };
  if (seen.pairs > 0) return each(seen.forward_time + seen.backward_time + seen.pair_time, seen.forwards);
  return each(seen.forward_time, seen.forwards) + each(seen.backward_time, seen.backwards);
}

}  // namespace

std::optional<double> observed_imbalance(const Observation& seen, const Plan& plan) {
  const std::size_t known = seen.stages.size();
  if (known < plan.stages.size()) return std::nullopt;
  double largest = 0.0;
  double sum = 0.0;
  int stages = 0;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const std::optional<double> time = time_of(seen.stages[StageId(known - plan.stages.size() + s)]);
    if (!time) continue;
    const double share = *time / static_cast<double>(plan.stages[s].replicas.size());
    largest = std::max(largest, share);
    sum += share;
    ++stages;
  }
  if (stages == 0 || sum <= 0.0) return std::nullopt;
  return largest / (sum / stages) - 1.0;
}

}  // namespace stagecraft
