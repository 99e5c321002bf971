#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/network_model.hpp"
#include "sim/schedule/stage_program.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft {

struct KeptPlan;
struct Plan;

/// The time that one microbatch takes on a resource of a pipeline.
struct BlockTimes {
  Seconds forward;
  Seconds backward;
  [[nodiscard]] Seconds total() const { return forward + backward; }
  friend bool operator==(const BlockTimes&, const BlockTimes&) = default;
};

/// The times of a plan on the analytic network (docs/reference/report.md). The stages of its pipeline are a chain, and
/// one channel between consecutive stages carries everything that crosses the cut.
struct PipelineTimes {
  /// Stage 0, channel 0, stage 1, …: 2 * stages - 1. For a stage: the time of its slowest replica for its share of the
  /// microbatch, recompute included; the mean if memory actions cover only some microbatches. For a channel: the time
  /// of a transfer in each direction.
  std::vector<BlockTimes> resources;
  std::vector<std::int64_t> alternating;  ///< by stage: replicas among which whole microbatches alternate
  /// By stage: the time of each alternating replica as a part of the slowest one's; empty if all are equally fast.
  std::vector<std::vector<double>> pace;
  std::vector<Seconds> synchronise;  ///< by stage: all-reduce and optimizer's step after its last backward
  friend bool operator==(const PipelineTimes&, const PipelineTimes&) = default;

  [[nodiscard]] std::size_t stages() const { return alternating.size(); }
};

/// `all_reduces`: the network whose all-reduces the stages take; on the platform's `lowered_time`.
/// **Requires** a plan of one pipeline without violations and without groups of devices. **Throws** InputError for a
/// device of unknown speed, and for replicas that are not connected to each other or to those of the next stage.
/// **Cost** O(layers + edges), and `smallest_bandwidth_both_ways` in each stage and for stages that follow each other.
[[nodiscard]] PipelineTimes pipeline_times(const LayerGraph& graph, const Platform& platform, const KeptPlan& kept,
                                           NetworkModel all_reduces = NetworkModel::Analytic);

/// The load of the busiest stage or channel in a flushed iteration, a lower bound for every order of the plan's work on
/// the analytic network. A stage runs its microbatches and then synchronises. A channel carries both directions one
/// after the other, or with `full_duplex` at the same time.
/// **Source** the load W of SPP (Luo et al., INFOCOM 2022).
[[nodiscard]] Seconds pipeline_load(const PipelineTimes& times, std::int64_t microbatches, bool full_duplex);

/// The time of a transfer over a boundary in one direction, without latency. There is one flow for each pair of parts;
/// the slowest one has the smallest bandwidth between the two stages, in either direction.
/// **Throws** InputError if two of their devices are not connected.
[[nodiscard]] Seconds channel_time(const Platform& platform, const Plan& plan, const Boundary& boundary);

/// The smallest bandwidth of any two of the devices, in either direction; none for fewer than two.
/// **Throws** InputError if two are not connected. **Cost** that of `smallest_bandwidth_both_ways`.
[[nodiscard]] std::optional<BytesPerSecond> smallest_bandwidth_among(const Platform& platform,
                                                                     const std::vector<DeviceId>& devices);

}  // namespace stagecraft
