#pragma once

#include "sim/schedule/families/spp_pe/processing_order.hpp"
#include "sim/schedule/pipeline_times.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// A block when it ran.
struct ProcessedBlock {
  ProcessingBlock block;
  Seconds start;
  Seconds end;
  friend bool operator==(const ProcessedBlock&, const ProcessedBlock&) = default;
};

/// What came of the execution of an order.
struct ProcessingFigures {
  Seconds time;  ///< of the iteration: the latest end of a stage's last backward and what it synchronises then
  std::int64_t rounds = 0;          ///< of the order
  std::vector<std::int64_t> peaks;  ///< by stage: the most microbatches in flight on one replica in this run
};

/// Runs one flushed iteration on the chain of resources: a block starts when its resource is free and the block before
/// it of the same microbatch has ended. Strict: each resource keeps the order of `order_blocks`. Else an idle one takes
/// the ready block of the earliest round, and a stage with a cap starts its k-th forward after its (k - cap)-th
/// backward; blocks start one by one by (start, microbatch), and one that takes no time ends at once. `caps` by stage
/// lowers what `settings` allows in flight; empty for none. If `blocks` is given, all blocks are appended to it: by
/// round if strict, else by start.
/// **Cost** strict O(rounds × resources); else that and O(blocks × log(blocks)).
[[nodiscard]] ProcessingFigures run_blocks(const PipelineTimes& times, std::int64_t microbatches,
                                           const ProcessingSettings& settings,
                                           const std::vector<std::int64_t>& caps = {},
                                           std::vector<ProcessedBlock>* blocks = nullptr);

/// `ProcessingFigures::time`.
[[nodiscard]] Seconds executed_time(const PipelineTimes& times, std::int64_t microbatches,
                                    const ProcessingSettings& settings, const std::vector<std::int64_t>& caps = {});

/// As many times the longest block as the order has rounds, and the longest synchronisation. No strict run is slower:
/// with a barrier after each round, rounds last no longer than that, and without the barriers no block is later.
/// **Requires** stages that divide each microbatch.
[[nodiscard]] Seconds rounds_bound(const PipelineTimes& times, std::int64_t rounds);

/// The same for an order without caps, of 2 microbatches + 4 stages - 4 rounds.
[[nodiscard]] Seconds proven_bound(const PipelineTimes& times, std::int64_t microbatches);

/// (microbatches + 4 stages - 4) × the largest forward and backward of a resource, and the longest synchronisation:
/// what orders without caps keep almost always, but need not.
[[nodiscard]] Seconds soft_bound(const PipelineTimes& times, std::int64_t microbatches);

}  // namespace stagecraft
