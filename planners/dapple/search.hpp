#pragma once

#include "planners/dapple/latency.hpp"
#include "planners/dapple/problem.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::dapple {

struct SearchLimits {
  std::size_t width = 2;  ///< prefixes kept for each number of layers and devices placed
  double work = 2e6;      ///< latencies that may be computed, before pruning
};

struct Answer {
  std::vector<PlacedStage> stages;
  Latency latency;
  std::size_t cuts = 0;      ///< places where a stage may end, of `layers` - 1
  std::int64_t work = 0;     ///< latencies computed
  bool ended_early = false;  ///< all steps were spent
};

/// DAPPLE's search over (layers placed, devices placed). A prefix of stages is continued by one more stage on devices
/// that a policy picks; its value is the latency when all the layers left are one stage on the devices left (as many of
/// them as a microbatch has samples). For each (layers, devices) the prefixes of least value are kept, first found on
/// ties, different sets of devices only. A prefix is dropped when a bound on its latency is no better than the best
/// plan found: M times its slowest block, or M times the work left over the devices left.
///
/// Where that could be more than `limits.work`, only so many cuts are tried that it is not: of equal parts of the
/// chain's work, in each the cut that the fewest bytes cross.
///
/// On thousands of devices to place a stage takes longer than its latency. The search ends with the best plan so far
/// when it has taken 1,000 steps for each latency of `limits.work`: looked at a device or at the bandwidth of a pair.
/// **Cost** O(limits.work) latencies and steps, but at least one stage placed by each policy.
[[nodiscard]] Answer search(const Problem& problem, const SearchLimits& limits);

}  // namespace stagecraft::dapple
