#pragma once

#include "planners/planner.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// Whole numbers with the given sum, none less than `least`, of which the longest `times[i] * number` is as short as
/// can be. **Requires** times > 0, and a sum of at least that many. **Cost** O(times²).
[[nodiscard]] std::vector<std::int64_t> level_numbers(const std::vector<double>& times, std::int64_t sum,
                                                      std::int64_t least);

/// Shares with which the owners of turns that take so long end their parts of the first `turns` as early as with any of
/// a round of up to 256 turns more than owners, the fewest that do, or of `turns`. An owner may have its first turn
/// after these. Empty if equal shares do. **Requires** times > 0.
[[nodiscard]] std::vector<std::int64_t> level_shares(const std::vector<double>& times, std::int64_t turns);

/// The plan with unequal shares of the microbatches for replicas and for pipelines of unequal speed, and with its peaks
/// of memory. Shares stay equal if its schedule refuses others, if an iteration does not take less time, or if the plan
/// would not fit any more. Where replicas that take turns are not equally fast, the claim is the evaluated time in any
/// case. A plan of an asynchronous schedule or with swaps stays as it is. Stages, devices and their order stay.
/// **Requires** a plan that breaks no rule. **Cost** that of `evaluated_claim`, twice.
[[nodiscard]] Planned with_level_shares(const PlanRequest& request, Planned planned);

}  // namespace stagecraft
