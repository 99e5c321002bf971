#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/stage_program.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft {

/// Seconds that one microbatch takes on a resource of a pipeline.
struct BlockTimes {
  Seconds forward;
  Seconds backward;
  [[nodiscard]] Seconds total() const { return forward + backward; }
  friend bool operator==(const BlockTimes&, const BlockTimes&) = default;
};

/// A plan as the analytic network runs it (contract, section 6): the stages of its pipeline are a chain, and between
/// two that follow each other one channel carries all that crosses the cut.
struct PipelineTimes {
  /// Stage 0, channel 0, stage 1, …: 2 * stages - 1. Of a stage, what its slowest replica takes for its share of the
  /// microbatch, recompute included; of a channel, what it takes one way.
  std::vector<BlockTimes> resources;
  std::vector<std::int64_t> alternating;  ///< by stage: replicas among which whole microbatches alternate
  /// By stage: of each alternating replica, its time as a part of the slowest one's; empty where all are alike.
  std::vector<std::vector<double>> pace;
  std::vector<Seconds> synchronise;  ///< by stage: all-reduce and optimizer's step after its last backward
  friend bool operator==(const PipelineTimes&, const PipelineTimes&) = default;

  [[nodiscard]] std::size_t stages() const { return alternating.size(); }
};

/// **Requires** a plan of one pipeline without violations. **Throws** InputError for a device of unknown speed, and for
/// replicas that are not connected to each other or to those of the next stage.
/// **Cost** O(layers + edges + pairs of devices in a stage and in stages that follow each other).
[[nodiscard]] PipelineTimes pipeline_times(const LayerGraph& graph, const Platform& platform, const Plan& plan);

/// What the busiest stage or channel of a flushed iteration has to do: no order of the plan's work is faster on the
/// analytic network. A stage is busy with its microbatches and then synchronises; a channel carries both directions, or
/// with `full_duplex` each by itself.
/// **Source** the load W of SPP (Luo et al., INFOCOM 2022).
[[nodiscard]] Seconds pipeline_load(const PipelineTimes& times, std::int64_t microbatches, bool full_duplex);

/// One way, without latency: as many flows as there are pairs of parts, the slowest of them over the smallest bandwidth
/// between the two stages.
/// **Throws** InputError if two of their devices are not connected.
[[nodiscard]] Seconds channel_time(const Platform& platform, const Plan& plan, const Boundary& boundary);

/// The smallest bandwidth of any two of the devices; none for fewer than two.
/// **Throws** InputError if two are not connected. **Cost** O(devices²), less where the platform's smallest is met.
[[nodiscard]] std::optional<BytesPerSecond> smallest_bandwidth_among(const Platform& platform,
                                                                     const std::vector<DeviceId>& devices);

/// What a ring of `replicas` sends over each of its hops.
[[nodiscard]] inline Bytes ring_bytes(Bytes parameters, std::int64_t replicas) {
  return share_up(parameters, 2 * (replicas - 1), replicas);
}

}  // namespace stagecraft
