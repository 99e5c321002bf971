#pragma once

#include <cstdint>
#include <vector>

namespace stagecraft {

/// The cap that an order puts on the microbatches in flight on a replica of a stage. With S stages, the n-th one
/// (counted from 1) has
enum class InFlightCap : std::uint8_t {
  None,
  OneForwardOneBackward,  ///< S - n + 1, as in 1F1B
  Double,                 ///< 2 (S - n) + 1: channels count towards the depth of the pipeline too
};

/// Settings of the order in which a pipeline processes its microbatches, and of its execution.
struct ProcessingSettings {
  InFlightCap cap = InFlightCap::None;
  bool strict = true;  ///< each resource keeps its order; else an idle one takes the ready block of the earliest round
  bool full_duplex = false;  ///< each direction of a cut has a channel of its own; else both share one
  friend bool operator==(const ProcessingSettings&, const ProcessingSettings&) = default;
};

/// The cap on microbatches in flight on a replica of each stage. `alternating` gives, by stage, the number of replicas
/// among which whole microbatches alternate. As in 1F1B, a stage with r of them counts (alternating replicas from this
/// stage on - 1) / r in place of S - n. `own` gives lower caps by stage; empty for none.
[[nodiscard]] std::vector<std::int64_t> in_flight_caps(const std::vector<std::int64_t>& alternating, InFlightCap cap,
                                                       const std::vector<std::int64_t>& own = {});

/// The resources of a pipeline, each of which runs one block at a time. The chain's positions are called hops: hops
/// 0, 1, 2, … are stage 0, the cut after it, stage 1, …. A microbatch goes forward over all of them and back.
struct ProcessingChain {
  /// Where a stage's microbatch runs.
  struct Slot {
    std::uint32_t resource = 0;
    std::uint32_t place = 0;  ///< nothing is transferred between two slots with the same place
  };
  struct Cut {
    std::uint32_t forward = 0;   ///< resource of its activations
    std::uint32_t backward = 0;  ///< resource of its gradients; the same one unless the channels are full duplex
  };
  std::size_t resources = 0;
  std::vector<std::vector<Slot>> stages;  ///< by stage, then by alternating replica; replica k mod r runs microbatch k
  std::vector<Cut> cuts;
  std::vector<std::int64_t> caps;  ///< by stage, per replica
};

/// A chain with one resource for each alternating replica and each channel, by hop. If a cut has a channel for each
/// direction, the forward one comes first.
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

/// The order of all blocks, found by running them in rounds of one unit of time. In each round every resource runs the
/// ready block of the smallest microbatch, and a stage starts a forward only while fewer microbatches than its cap are
/// in flight. Without caps, replicas and shared devices there are 2 microbatches + 4 S - 4 rounds, and the n-th stage
/// has min(microbatches, 4 (S - n) + 1) in flight. The lists come from a run, so they cannot deadlock.
/// **Source** the scheduler PE of SPP (Luo et al., INFOCOM 2022). **Cost** O(rounds × resources).
[[nodiscard]] ProcessingOrder order_blocks(const ProcessingChain& chain, std::int64_t microbatches);

}  // namespace stagecraft
