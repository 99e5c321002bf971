#pragma once

#include "sim/schedule/families/spp_pe/processing_order.hpp"
#include "sim/schedule/pipeline_times.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// A block with the times at which it ran.
struct ProcessedBlock {
  ProcessingBlock block;
  Seconds start;
  Seconds end;
  friend bool operator==(const ProcessedBlock&, const ProcessedBlock&) = default;
};

/// The result of executing an order.
struct ProcessingFigures {
  Seconds time;  ///< of the iteration: the latest end, over the stages, of the last backward and its synchronisation
  std::int64_t rounds = 0;          ///< of the order
  std::vector<std::int64_t> peaks;  ///< by stage: the most microbatches in flight on one replica in this run
};

/// Runs one flushed iteration on the chain of resources. A block starts when its resource is free and the previous
/// block of the same microbatch has ended.
/// - Strict: each resource keeps the order of `order_blocks`.
/// - Otherwise an idle resource takes the ready block of the earliest round, and a stage with a cap starts its k-th
///   forward after its (k - cap)-th backward. Blocks start one by one, by (start, microbatch), and a block that takes
///   no time ends at once.
///
/// `caps`, by stage, lowers the caps of `settings`; empty for none. If `blocks` is given, all blocks are appended to
/// it, by round if strict, else by start.
/// **Cost** strict O(rounds × resources); else that and O(blocks × log(blocks)).
[[nodiscard]] ProcessingFigures run_blocks(const PipelineTimes& times, std::int64_t microbatches,
                                           const ProcessingSettings& settings,
                                           const std::vector<std::int64_t>& caps = {},
                                           std::vector<ProcessedBlock>* blocks = nullptr);

/// The number of rounds times the longest block, plus the longest synchronisation. No strict run is slower: with a
/// barrier after each round, no round lasts longer than the longest block; and without the barriers no block is later.
/// An order without caps has 2 microbatches + 4 stages - 4 rounds.
/// **Requires** stages that divide each microbatch.
[[nodiscard]] Seconds rounds_bound(const PipelineTimes& times, std::int64_t rounds);

/// (microbatches + 4 stages - 4) × the largest forward plus backward of a resource, plus the longest synchronisation.
/// Orders without caps almost always stay within it, but it is not proven.
[[nodiscard]] Seconds soft_bound(const PipelineTimes& times, std::int64_t microbatches);

}  // namespace stagecraft
