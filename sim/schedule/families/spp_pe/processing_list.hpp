#pragma once

#include "sim/schedule/families/spp_pe/processing_run.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {

/// What a block takes on its resource.
[[nodiscard]] Seconds block_time(const PipelineTimes& times, const ProcessingBlock& block);

/// The execution of `run_blocks` that is not strict: the rounds of the order are priorities.
class ProcessingList {
 public:
  /// `times` and `chain` must outlive it.
  ProcessingList(const PipelineTimes& times, const ProcessingChain& chain, const ProcessingOrder& order,
                 std::int64_t microbatches);

  [[nodiscard]] ProcessingFigures run(std::vector<ProcessedBlock>* blocks);

 private:
  struct Waiting {
    Seconds ready;
    std::uint32_t round = 0;
    std::uint32_t microbatch = 0;
    std::uint32_t step = 0;
  };
  struct Resource {
    Seconds free;
    std::vector<Waiting> ready;   ///< when it is free; a heap by round
    std::vector<Waiting> coming;  ///< known, but ready later; a heap by (ready, round)
    std::uint32_t version = 0;    ///< of its entry among the next starts
  };
  /// A resource's next start.
  struct Next {
    Seconds start;
    std::uint32_t microbatch = 0;
    std::uint32_t resource = 0;
    std::uint32_t version = 0;
  };
  /// What a capped stage's forward waits for: its input, and an earlier backward.
  struct Gate {
    std::uint32_t missing = 1;
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
  std::vector<std::vector<Gate>> gates_;  ///< by stage with a cap below its microbatches, then by microbatch
  std::vector<Resource> resources_;
  std::vector<Next> next_;                            ///< a heap; entries of older versions are passed over
  std::vector<std::vector<std::int64_t>> in_flight_;  ///< by stage and replica
  std::vector<Seconds> ends_;                         ///< of the last backward, by stage
  ProcessingFigures figures_;
};

}  // namespace stagecraft
