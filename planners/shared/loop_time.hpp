#pragma once

#include "sim/base/quantity.hpp"

#include <cstdint>
#include <span>

namespace stagecraft {

/// A stage of a pipeline in which every stage runs forwards and backwards in turn.
struct LoopStage {
  Seconds compute;             ///< forward and backward of a microbatch
  std::int64_t in_flight = 1;  ///< microbatches, at most
  Seconds transfer;            ///< of the tensors between it and the next stage, one way
};

/// The least time between microbatches that the loops of a pipeline allow.
///
/// Stage y runs B(m), and later, with K(x) microbatches in flight on an earlier stage x, the forward of m + K(x), which x
/// begins behind B(m). In between lie the forward and backward of each stage from x to y - 1, and the transfers there and
/// back. Stage y goes on with B(m + K(x) - K(y) + 1). So in the order of 1F1B
///     (K(x) - K(y) + 1) period >= sum of compute x .. y + 2 · sum of transfers x .. y - 1.
/// If a stage has one microbatch more in flight than the next one, as in `1f1b` and `pipedream`, transfers are hidden
/// only behind the time by which some stages are shorter than others: where all are equal, none is.
/// Ranges in which a stage has no more in flight than the next one give no such loop; then this is the longest compute.
/// **Cost** O(stages²).
[[nodiscard]] Seconds loop_time(std::span<const LoopStage> stages);

}  // namespace stagecraft
