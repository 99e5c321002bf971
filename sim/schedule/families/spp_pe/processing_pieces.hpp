#pragma once

#include "sim/schedule/families/spp_pe/processing_order.hpp"
#include "sim/schedule/families/spp_pe/processing_rounds.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft {

/// The steady state of an order: from some round on, the same rounds repeat with larger microbatches. So a segment of a
/// long order can be made without running all rounds before it.
struct ProcessingCycle {
  ProcessingRounds at;               ///< the rounds at the beginning of a cycle
  std::int64_t microbatches = 0;     ///< by which all microbatches grow in one cycle
  std::int64_t rounds = 0;           ///< in one cycle
  std::vector<std::int64_t> passed;  ///< by resource: the growth of `ProcessingRounds::passed` in one cycle
};
/// Finds the cycle. None if no state comes back within a limit, or before the first stage runs out of microbatches.
/// **Cost** O(stages²).
[[nodiscard]] std::optional<ProcessingCycle> find_cycle(const ProcessingChain& chain, std::int64_t microbatches);

/// `ProcessingOrder::peaks`, found without making the lists. **Cost** if there is a cycle, that of a few hundred
/// microbatches.
[[nodiscard]] std::vector<std::int64_t> order_peaks(const ProcessingChain& chain, std::int64_t microbatches);

/// The part of `ProcessingOrder::lists` for a segment. The parts of segments that partition [0, microbatches), one
/// after the other, are the whole lists. If there is no cycle, the segment that begins at 0 gets all blocks.
/// **Requires** a resource for each replica and each channel. **Cost** O(stages² + stages × its microbatches) if there
/// is a cycle.
[[nodiscard]] std::vector<std::vector<ProcessingBlock>> order_piece(const ProcessingChain& chain,
                                                                    std::int64_t microbatches, Segment segment);

}  // namespace stagecraft
