#pragma once

#include "planners/dapple/latency.hpp"
#include "planners/dapple/problem.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::dapple {

struct SearchLimits {
  std::size_t width = 2;  ///< prefixes kept for each number of layers and devices placed, and for each completion
  double work = 4e6;      ///< plans whose latency may be computed, before pruning
};

struct Answer {
  std::vector<PlacedStage> stages;
  Latency latency;
  std::size_t cuts = 0;      ///< positions tried as ends of stages, of at most `layers` - 1
  std::int64_t work = 0;     ///< plans whose latency was computed
  bool ended_early = false;  ///< all steps were spent
};

/// DAPPLE's search over states (layers placed, devices used). A prefix of stages is extended by one stage on devices
/// that a policy picks. A prefix is judged with two completions: all the layers left form one stage on the devices left
/// (at most as many as a microbatch has samples); or they form a straight pipeline of equal stages, without transfers
/// and synchronisation. The first undervalues prefixes of pipelines where the all-reduce of a large stage takes long.
/// For each state and each completion the `width` prefixes of least latency are kept: the first found on ties, and only
/// those with different sets of devices. A prefix is dropped if a lower bound on its
/// latency is no better than the best plan found: M times its slowest block, or M times the work left divided by the
/// devices left.
///
/// If that could take more than `limits.work` latencies, fewer cuts are tried: the chain's work is divided into equal
/// parts, and in each part only the cut that the fewest bytes cross is tried.
///
/// With thousands of devices, placing a stage takes longer than computing a latency. So steps are counted, too: looking
/// at a device, or at the bandwidth of a pair, is a step. The search ends with the best plan so far after 1,000 steps
/// for each latency of `limits.work`.
/// **Cost** O(limits.work) latencies and steps, but at least one stage placed by each policy.
/// **Source** DAPPLE (Fan et al., PPoPP 2021), section on the planner; limits and rules for ties are ours.
[[nodiscard]] Answer search(const Problem& problem, const SearchLimits& limits);

}  // namespace stagecraft::dapple
