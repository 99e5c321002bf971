#pragma once

#include "sim/analytic/lower_bound.hpp"
#include "sim/analytic/sampled_run.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

struct Plan;

/// The bound of an asynchronous run, per microbatch in the long run: what the busiest lane or link does for it, and the
/// time for which it is in flight on a replica, divided by how many are. Of a stage whose memory actions cover only
/// some microbatches the windows that the run ends within do not count: they begin with those that take longest. Zero
/// for a run without a whole round.
///
/// `plan`: that of the run. `in_flight`: by stage, the most on a replica; empty if that is not known.
[[nodiscard]] LowerBound period_bound(const SampledRun& run, const Plan& plan,
                                      const std::vector<std::int64_t>& in_flight, bool shares_links);

}  // namespace stagecraft
