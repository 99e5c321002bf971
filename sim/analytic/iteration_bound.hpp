#pragma once

#include "sim/analytic/lower_bound.hpp"
#include "sim/analytic/sampled_run.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// The bound of an iteration, from its operations and what they need of each other, without the order of any lane.
///
/// The *head* of an operation is the longest chain of operations before it, its *tail* the longest chain from its end
/// to that of the iteration. On each lane and link the operations take turns, so `least_completion` of their heads,
/// times and tails bounds the iteration; those of microbatches that are alike have the same heads and tails, so they
/// count as one operation that takes as long as all of them. So does the longest chain. And the microbatches in flight
/// on a replica stay there between the least head of a forward and the least tail of a backward, no more at a time than
/// its cap.
///
/// `in_flight`: by stage, the most on a replica; empty if that is not known. **Requires** a whole iteration that has
/// its ends.
[[nodiscard]] LowerBound iteration_bound(const SampledRun& iteration, std::int64_t microbatches,
                                         const std::vector<std::int64_t>& in_flight, bool shares_links);

}  // namespace stagecraft
