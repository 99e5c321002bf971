#pragma once

#include "sim/schedule/families/spp_pe/processing_order.hpp"
#include "sim/schedule/families/spp_pe/processing_rounds.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft {

/// From some round on an order repeats itself, so that pieces of a long one can be made without the rounds before them.
struct ProcessingCycle {
  ProcessingRounds at;  ///< when it begins
  std::int64_t microbatches = 0;
  std::int64_t rounds = 0;
  std::vector<std::int64_t> passed;  ///< by resource: what it runs of what `ProcessingRounds::passed` counts
};
/// None if the rounds do not come back to where they were soon, or not before they run out of microbatches.
/// **Cost** O(stages²).
[[nodiscard]] std::optional<ProcessingCycle> find_cycle(const ProcessingChain& chain, std::int64_t microbatches);

/// `ProcessingOrder::peaks`, without the lists. **Cost** that of a few hundred microbatches, if there is a cycle.
[[nodiscard]] std::vector<std::int64_t> order_peaks(const ProcessingChain& chain, std::int64_t microbatches);

/// A piece of `ProcessingOrder::lists`. One after the other, the pieces of a partition of [0, microbatches) are the
/// whole lists. Where there is no cycle, the piece that begins at 0 is everything.
/// **Requires** a resource for each replica and each channel. **Cost** O(stages² + stages × its microbatches) if there
/// is a cycle.
[[nodiscard]] std::vector<std::vector<ProcessingBlock>> order_piece(const ProcessingChain& chain,
                                                                    std::int64_t microbatches, Segment segment);

}  // namespace stagecraft
