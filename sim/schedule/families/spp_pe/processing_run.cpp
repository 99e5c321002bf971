#include "sim/schedule/families/spp_pe/processing_run.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/families/spp_pe/processing_list.hpp"
#include "sim/schedule/families/spp_pe/processing_rounds.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

Seconds longest_synchronisation(const PipelineTimes& times) {
  return times.synchronise.empty() ? Seconds(0) : *std::ranges::max_element(times.synchronise);
}

/// The rounds contain the blocks of each resource, and those of each microbatch, in their order. So one pass over the
/// rounds gives all times.
ProcessingFigures run_strict(const PipelineTimes& times, std::int64_t microbatches, const ProcessingChain& chain,
                             std::vector<ProcessedBlock>* blocks) {
  ProcessingFigures figures;
  std::vector<Seconds> free(chain.resources);
  std::vector<Seconds> ready(static_cast<std::size_t>(microbatches));
  std::vector<Seconds> ends(chain.stages.size());
  ProcessingRounds rounds(chain, microbatches);
  for (auto popped = rounds.next(); !popped.empty(); popped = rounds.next()) {
    for (const auto& [resource, block] : popped) {
      const Seconds start = std::max(free[resource], ready[block.microbatch]);
      const Seconds end = start + block_time(times, block);
      free[resource] = ready[block.microbatch] = end;
      if (block.backward && block.hop % 2 == 0) ends[block.hop / 2] = std::max(ends[block.hop / 2], end);
      if (blocks != nullptr) blocks->push_back({block, start, end});
    }
  }
  for (std::size_t s = 0; s < ends.size(); ++s) figures.time = std::max(figures.time, ends[s] + times.synchronise[s]);
  figures.rounds = rounds.rounds();
  figures.peaks = rounds.peaks();
  return figures;
}

}  // namespace

Seconds block_time(const PipelineTimes& times, const ProcessingBlock& block) {
  const BlockTimes& both = times.resources[block.hop];
  const Seconds time = block.backward ? both.backward : both.forward;
  if (block.hop % 2 != 0 || times.pace.size() <= block.hop / 2 || times.pace[block.hop / 2].empty()) return time;
  const std::vector<double>& pace = times.pace[block.hop / 2];
  return time * pace[block.microbatch % pace.size()];
}

ProcessingFigures run_blocks(const PipelineTimes& times, std::int64_t microbatches, const ProcessingSettings& settings,
                             const std::vector<std::int64_t>& caps, std::vector<ProcessedBlock>* blocks) {
  STAGECRAFT_CHECK(times.resources.size() + 1 == 2 * times.stages(), "a chain of stages and channels");
  const ProcessingChain chain = processing_chain(times.alternating, settings, caps);
  if (settings.strict) return run_strict(times, microbatches, chain, blocks);
  ProcessingList list(times, chain, order_blocks(chain, microbatches), microbatches);
  return list.run(blocks);
}

Seconds rounds_bound(const PipelineTimes& times, std::int64_t rounds) {
  Seconds longest;
  for (const BlockTimes& block : times.resources) longest = std::max({longest, block.forward, block.backward});
  return longest * static_cast<double>(rounds) + longest_synchronisation(times);
}

Seconds soft_bound(const PipelineTimes& times, std::int64_t microbatches) {
  Seconds largest;
  for (const BlockTimes& block : times.resources) largest = std::max(largest, block.total());
  const auto stages = static_cast<std::int64_t>(times.stages());
  return largest * static_cast<double>(microbatches + 4 * stages - 4) + longest_synchronisation(times);
}

}  // namespace stagecraft
