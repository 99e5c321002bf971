#pragma once

#include <cstdint>
#include <vector>

namespace stagecraft {

/// How many microbatches an order lets a replica of a stage have in flight. With S stages, the n-th counted from 1:
enum class InFlightCap : std::uint8_t {
  None,
  OneForwardOneBackward,  ///< S - n + 1, as 1F1B has it
  Double,                 ///< 2 (S - n) + 1: channels count as depth too
};

/// Of the order in which a pipeline processes its microbatches, and of its execution.
struct ProcessingSettings {
  InFlightCap cap = InFlightCap::None;
  bool strict = true;  ///< each resource keeps its order; else an idle one takes the ready block of the earliest round
  bool full_duplex = false;  ///< a channel for each way of a cut, else one for both
  friend bool operator==(const ProcessingSettings&, const ProcessingSettings&) = default;
};

/// The most microbatches in flight on a replica of each stage. `alternating` counts the replicas among which whole
/// microbatches alternate; a replica of r counts the ranks after it r-th, as 1F1B does. `own` lowers it, by stage;
/// empty for none.
[[nodiscard]] std::vector<std::int64_t> in_flight_caps(const std::vector<std::int64_t>& alternating, InFlightCap cap,
                                                       const std::vector<std::int64_t>& own = {});

/// The resources of a pipeline, each of which runs one block at a time. Hops 0, 1, 2, … are stage 0, the cut behind it,
/// stage 1, …; a microbatch goes forward over all of them and back.
struct ProcessingChain {
  struct Seat {
    std::uint32_t resource = 0;
    std::uint32_t place = 0;  ///< between two seats of one place nothing is transferred
  };
  struct Cut {
    std::uint32_t forward = 0;  ///< the resource
    std::uint32_t backward = 0;
  };
  std::size_t resources = 0;
  std::vector<std::vector<Seat>> stages;  ///< of each alternating replica: replica j runs microbatches k, k mod r = j
  std::vector<Cut> cuts;
  std::vector<std::int64_t> caps;  ///< by stage, per replica
};

/// A resource for each alternating replica and each channel, by hop; of a channel for each way, the forward one first.
[[nodiscard]] ProcessingChain processing_chain(const std::vector<std::int64_t>& alternating,
                                               const ProcessingSettings& settings,
                                               const std::vector<std::int64_t>& caps = {});

/// The forward or backward of one microbatch on one hop.
struct ProcessingBlock {
  std::uint32_t hop = 0;
  bool backward = false;
  std::uint32_t microbatch = 0;
  std::uint32_t round = 0;  ///< from 0
  friend bool operator==(const ProcessingBlock&, const ProcessingBlock&) = default;
};

struct ProcessingOrder {
  std::vector<std::vector<ProcessingBlock>> lists;  ///< by resource
  std::int64_t rounds = 0;
  std::vector<std::int64_t> peaks;  ///< by stage: the most microbatches in flight on one replica
};

/// The order of all blocks from rounds of one unit of time: in each, every resource runs the ready block of the
/// smallest microbatch, and a stage starts a forward only while fewer than its cap are in flight. Without caps,
/// replicas and shared devices these are 2 microbatches + 4 S - 4 rounds, and the n-th stage keeps min(microbatches, 4
/// (S - n) + 1) in flight. Lists come from a run, so they cannot deadlock.
/// **Source** the scheduler PE of SPP (Luo et al., INFOCOM 2022). **Cost** O(rounds × resources).
[[nodiscard]] ProcessingOrder order_blocks(const ProcessingChain& chain, std::int64_t microbatches);

}  // namespace stagecraft
