#pragma once

#include "sim/schedule/families/spp_pe/processing_run.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// The time that a block takes on its resource.
[[nodiscard]] Seconds block_time(const PipelineTimes& times, const ProcessingBlock& block);

/// The execution of `run_blocks` that is not strict. The rounds of the order serve as priorities: an idle resource
/// takes the ready block of the earliest round.
class ProcessingList {
 public:
  /// `times` and `chain` must outlive it.
  ProcessingList(const PipelineTimes& times, const ProcessingChain& chain, const ProcessingOrder& order,
                 std::int64_t microbatches);

  [[nodiscard]] ProcessingFigures run(std::vector<ProcessedBlock>* blocks);

 private:
  /// A block whose earlier block of the same microbatch has run, so that it is known when it is ready.
  struct Waiting {
    Seconds ready;
    std::uint32_t round = 0;
    std::uint32_t microbatch = 0;
    std::uint32_t step = 0;
  };
  struct Resource {
    Seconds free;
    std::vector<Waiting> ready;   ///< ready by the time `free`; a heap by round
    std::vector<Waiting> coming;  ///< ready later than `free`; a heap by (ready, round)
    std::uint32_t version = 0;    ///< of its valid entry in `next_`; older entries are ignored
  };
  /// A resource's next start.
  struct Next {
    Seconds start;
    std::uint32_t microbatch = 0;
    std::uint32_t resource = 0;
    std::uint32_t version = 0;
  };
  /// A forward on a capped stage. It waits for its input, and beyond the cap for an earlier backward too.
  struct Gate {
    std::uint32_t missing = 1;  ///< how many of them have not ended
    Seconds ready;
  };

  [[nodiscard]] std::uint32_t step_of(const ProcessingBlock& block) const;
  [[nodiscard]] ProcessingBlock block_of(const Waiting& waiting) const;
  [[nodiscard]] std::uint32_t resource_of(const ProcessingBlock& block) const;
  void arrive(std::uint32_t step, std::uint32_t microbatch, Seconds ready);
  void open_gate(std::size_t stage, std::int64_t microbatch, Seconds at);
  void add(std::uint32_t step, std::uint32_t microbatch, Seconds ready);
  void announce(std::uint32_t number);
  [[nodiscard]] Waiting take(Resource& resource);
  void start(const Next& next, std::vector<ProcessedBlock>* blocks);
  void count(const ProcessingBlock& block, Seconds end);

  const PipelineTimes& times_;
  const ProcessingChain& chain_;
  std::int64_t microbatches_;
  std::uint32_t hops_;
  std::vector<std::uint32_t> round_of_;   ///< by step of a microbatch, then by microbatch
  std::vector<std::vector<Gate>> gates_;  ///< by stage, then by microbatch; empty where the cap has no effect
  std::vector<Resource> resources_;
  std::vector<Next> next_;                            ///< a heap by (start, microbatch)
  std::vector<std::vector<std::int64_t>> in_flight_;  ///< by stage and replica
  std::vector<Seconds> ends_;                         ///< of the last backward, by stage
  ProcessingFigures figures_;
};

}  // namespace stagecraft
