#pragma once

#include "sim/base/quantity.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace stagecraft {

/// A stage of a pipeline in which every stage runs forwards and backwards in turn, with the times of a microbatch.
struct LoopStage {
  Seconds forward;
  Seconds backward;            ///< with what is recomputed
  std::int64_t in_flight = 1;  ///< microbatches, at most
};

/// Tensors that one stage sends to a later one, and whose gradients come back.
struct LoopBoundary {
  std::size_t from = 0;
  std::size_t to = 0;
  Seconds time;  ///< one way
};

/// The least time between microbatches that the loops of a pipeline allow.
///
/// Stage y runs B(m), and later, with K(x) microbatches in flight on an earlier stage x, the forward of m + K(x), which
/// x begins behind B(m). In between lie the backwards and transfers on any way from y back to x, and the forwards and
/// transfers on any way from x to y. Stage y goes on with B(m + K(x) - K(y) + 1). So in the order of 1F1B
///     (K(x) - K(y) + 1) period >= longest way back from y to x + longest way from x to y,
/// each with the computations of both. In a chain this is the sum of the computations x .. y and twice that of the
/// transfers. A tensor that skips stages goes its own way beside theirs, and is sent once.
/// If a stage has one microbatch more in flight than the next one, as in `1f1b` and `pipedream`, transfers are hidden
/// only behind the time by which some stages are shorter than others: where all are equal, none is.
/// Ranges in which a stage has no more in flight than the next one give no such loop; then this is the longest compute.
/// **Cost** O(stages · (stages + boundaries)).
[[nodiscard]] Seconds loop_time(std::span<const LoopStage> stages, std::span<const LoopBoundary> boundaries);

}  // namespace stagecraft
