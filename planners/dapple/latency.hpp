#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stagecraft::dapple {

/// Seconds of one microbatch on a stage, or on the channel between two stages.
struct Block {
  double forward = 0.0;
  double backward = 0.0;
  double synchronise = 0.0;  ///< all-reduce and optimizer's step after the last backward; 0 of a channel
  [[nodiscard]] double both() const { return forward + backward; }
};

/// DAPPLE's view of a flushed iteration: the first microbatch runs to the pivot, the pivot never idles, the last
/// microbatch runs back and stages synchronise.
struct Latency {
  double warmup = 0.0;
  double steady = 0.0;
  double ending = 0.0;
  std::size_t pivot = 0;  ///< which block
  [[nodiscard]] double total() const { return warmup + steady + ending; }
};

/// The pivot Q starts as the last block; from there to the front, block s takes its place if its steady phase (M - 1)
/// (F + B) is longer than that of Q by more than the F + B of the blocks between them. Then
///   warmup = sum of F up to Q, steady = (M - 1) (F_Q + B_Q),
///   ending = max over s of synchronise_s + sum of B from s to Q, or for s behind Q less the B between Q and s.
/// With a block s an iteration takes no less than M (F_s + B_s).
/// **Requires** at least one block and one microbatch. **Cost** O(blocks).
/// **Source** DAPPLE (Fan et al., PPoPP 2021), section on the planner.
[[nodiscard]] Latency pipeline_latency(std::span<const Block> blocks, std::int64_t microbatches);

}  // namespace stagecraft::dapple
