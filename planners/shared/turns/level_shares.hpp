#pragma once

#include "planners/planner.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// Whole numbers with the given sum, each at least 1, of which the longest `times[i] * number` is as short as can be.
/// **Requires** times > 0, and a sum of at least one for each. **Cost** O(times²).
[[nodiscard]] std::vector<std::int64_t> level_numbers(const std::vector<double>& times, std::int64_t sum);

/// Shares with which the owners of turns that take so long end their parts of `turns` as early as with any: of the
/// shares with the fewest turns in a round, up to 256 more than there are owners. Empty if equal ones do.
/// **Requires** as `level_numbers`, of `turns`.
[[nodiscard]] std::vector<std::int64_t> level_shares(const std::vector<double>& times, std::int64_t turns);

/// The plan with unequal shares of the microbatches for replicas and for pipelines of unequal speed, and with its
/// evaluated time and its peaks of memory. As it was if no stage has replicas of unequal speed, if its schedule is
/// asynchronous or refuses such shares, if an iteration does not take less time, or if the plan would not fit any more.
/// Stages, devices and their order stay.
/// **Requires** a plan that breaks no rule. **Cost** that of `evaluated_claim`, twice.
[[nodiscard]] Planned with_level_shares(const PlanRequest& request, Planned planned);

}  // namespace stagecraft
