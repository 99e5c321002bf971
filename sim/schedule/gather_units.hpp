#pragma once

#include "sim/schedule/stage_program.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft {

/// Successive steps of a pass that begin when the same buckets of weights have been gathered for it.
struct GatherUnit {
  std::size_t first_step = 0;  ///< the steps [first_step, end_step)
  std::size_t end_step = 0;
  /// The buckets [first_bucket, end_bucket), which are gathered from the last to the first.
  std::size_t first_bucket = 0;
  std::size_t end_bucket = 0;
};

/// The time of a forward by bucket of weights: of the layers that have them, and of those before the first.
[[nodiscard]] std::vector<Seconds> forward_parts(const LayerGraph& graph, const Stage& stage,
                                                 const std::vector<WeightBucket>& weights);
/// Those of a forward, whose parts are its steps: one for each bucket.
[[nodiscard]] std::vector<GatherUnit> forward_units(std::size_t buckets);
/// Those of a backward that needs `buckets` of them. A recompute needs the weights of its whole segment at once.
[[nodiscard]] std::vector<GatherUnit> gather_units(const std::vector<BackwardStep>& steps, std::size_t buckets);

}  // namespace stagecraft
