#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stagecraft::dapple {

/// Seconds of one microbatch on a stage, or on the channel between two stages.
struct Block {
  double forward = 0.0;
  double backward = 0.0;
  double synchronise = 0.0;  ///< all-reduce and optimizer's step after the last backward; 0 for a channel
  [[nodiscard]] double both() const { return forward + backward; }
};

/// DAPPLE's model of a flushed iteration in three phases: the first microbatch runs forward to the pivot (warm-up), the
/// pivot works without a pause (steady), and the last microbatch runs backward while stages synchronise (ending).
struct Latency {
  double warmup = 0.0;
  double steady = 0.0;
  double ending = 0.0;
  std::size_t pivot = 0;  ///< index of the pivot block
  [[nodiscard]] double total() const { return warmup + steady + ending; }
};

/// The pivot Q starts as the last block; from there to the front, block s takes its place if its steady phase (M - 1)
/// (F + B) is longer than that of Q by more than the F + B of the blocks between them. Then
///   warmup = sum of F up to Q, steady = (M - 1) (F_Q + B_Q),
///   ending = max over s of synchronise_s + sum of B from s to Q; for s behind Q, synchronise_s minus the B between Q
///   and s instead.
/// An iteration with a block s takes at least M (F_s + B_s).
/// **Requires** at least one block and one microbatch. **Cost** O(blocks).
/// **Source** DAPPLE (Fan et al., PPoPP 2021), section on the planner.
[[nodiscard]] Latency pipeline_latency(std::span<const Block> blocks, std::int64_t microbatches);

}  // namespace stagecraft::dapple
