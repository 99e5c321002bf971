#pragma once

#include "planners/planner.hpp"
#include "planners/shared/costs/all_reduces.hpp"
#include "planners/shared/costs/divided_times.hpp"
#include "planners/shared/costs/pair_bandwidths.hpp"
#include "planners/shared/costs/update_exchange.hpp"
#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/run_sums.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace stagecraft::spp {

/// What two devices have between them, by position or by device.
struct UsedBandwidths {
  PairBandwidths rings;     ///< within a stage, for all-reduces
  PairBandwidths channels;  ///< between stages
};

/// The all-reduces of stages on consecutive positions, as they are run.
struct StageAllReduces {
  std::vector<AllReduceTime> distinct;
  std::vector<std::size_t> of_range;  ///< [first · (devices + 1) + last]: a position in `distinct`
};

/// The input of the partition: the layers of a chain and the devices in a fixed order, both given by position.
struct PartitionProblem {
  /// What a device takes beside layers and bytes.
  struct Overheads {
    Seconds pass;    ///< each forward and each backward
    Seconds update;  ///< the optimizer's step
  };

  // Sums over the layers before each position. **Shape** layers + 1; the first entry is 0, and entries never decrease.
  std::vector<Seconds> compute;  ///< forward and backward of one microbatch on the profile's device
  RunSums parameters;            ///< that replicas of a stage reduce

  // The same where replicas exchange gradients in buckets while the last backward runs; else empty.
  std::vector<Seconds> forward;
  std::vector<Seconds> backward;
  DividedTimes divided;  ///< the times of stages that divide each microbatch; empty: r replicas take 1 / r of the time
  Bytes bucket;          ///< parameters in a bucket; 0: gradients are exchanged after the backward
  UpdateExchange exchange;  ///< of replicas

  std::vector<Bytes> crossing;  ///< bytes that cross the cut before each position, one way. **Shape** layers + 1
  UsedBandwidths bandwidths;    ///< device ids are positions
  std::optional<StageAllReduces> all_reduces;  ///< none: rings of the smallest bandwidth, as on the analytic network

  // The device at each position.
  std::vector<double> factors;                   ///< time factor relative to the profile
  std::vector<BytesPerSecond> update_bandwidth;  ///< of the optimizer's step; infinite if the step takes no time
  std::vector<Overheads> overheads = {};         ///< none: nothing
  std::int64_t update_copies = 1;  ///< bytes that the step processes for each byte of parameters that it changes

  std::int64_t microbatches = 1;
  std::int64_t most_replicas =
      std::numeric_limits<std::int64_t>::max();  ///< of a stage, at most the samples of a microbatch
  bool full_duplex = false;                      ///< whether a channel carries both directions at once
  bool allow_fewer = false;                      ///< whether devices at the end of the order may be left idle

  [[nodiscard]] std::size_t layers() const { return crossing.size() - 1; }
  [[nodiscard]] std::size_t devices() const { return factors.size(); }
};

/// The problem of a request: layers in canonical order, devices in `order`.
/// **Requires** the bandwidths of the request's platform, and an order of all its devices.
/// **Throws** InputError if a device's speed is not known, or if the layers take longer than `kLongestChain`.
[[nodiscard]] PartitionProblem partition_problem(const PlanRequest& request, const UsedBandwidths& bandwidths,
                                                 const std::vector<DeviceId>& order);

/// The all-reduces of stages of at most `most_replicas`, on the devices in `order`.
/// **Requires** a platform of which every two devices are connected. **Cost** O(devices · replicas²), and that of the
/// distinct ones.
[[nodiscard]] StageAllReduces stage_all_reduces(AllReduces all_reduces, const std::vector<DeviceId>& order,
                                                std::int64_t most_replicas);

/// Layers [begin, end) on the devices [first, first + replicas), all by position.
struct PartitionStage {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t first = 0;
  std::size_t replicas = 1;
  friend bool operator==(const PartitionStage&, const PartitionStage&) = default;
};

struct Partition {
  Seconds load;  ///< W, a lower bound of the iteration time on the analytic network for any order of the microbatches
  std::vector<PartitionStage> stages;
  friend bool operator==(const Partition&, const Partition&) = default;
};

/// **Throws** InputError if the tables of `best_partitions` would be too large or take too long. Call it before
/// ordering the devices, which takes minutes for thousands of devices.
void require_partition_size(std::size_t layers, std::size_t devices);

/// The partition of least load for every number of stages that has one, in ascending order: from 1, or from the least
/// number that `most_replicas` allows, to min(layers, devices).
///
/// Dynamic program: W(l, xi, r, i) is the least possible largest load if the first l layers form xi stages on the first
/// i devices, with the last stage on the last r of them:
///   W(l, 1, r, i)  = stage(0..l, r, i), only if r = i
///   W(l, xi, r, i) = min over l' < l, r' of max(W(l', xi-1, r', i-r), channel(l', r', r, i-r), stage(l'..l, r, i))
/// with stage = M · (compute of the largest of r shares · slowest factor + overheads) + all-reduce (what buckets leave
/// beyond the last backward) and optimizer step, channel = 2 M · crossing / (r' r · smallest bandwidth), or half if
/// the channel carries both directions at once. Since the stage does not depend on r', nor the channel on l, the table
/// holds
///   G(l', xi-1, p, r) = min over r' of max(W(l', xi-1, r', p), channel(l', r', r, p))
/// and W = min over l' of max(G(l', xi-1, i-r, r), stage). The stage's load never grows as l' grows, so the search goes
/// down from l' = l - 1 and ends as soon as the stage alone is no better. The stages are followed back from the table.
///
/// Of partitions with equal load, one with more devices is taken if fewer are allowed; then the one with the smallest
/// sum of loads (see partition_sums.hpp); then the first found with r, l', r' ascending.
/// **Throws** InputError as `require_partition_size`.
/// **Cost** O(L V³ (L + V)) for L layers and V devices at worst, of which most is skipped; for the smallest sums at
/// most that again for each different load. 8 bytes for each of at most L V³ / 6 entries.
/// **Source** SPP (INFOCOM 2022). Computing G separately is our own change and does not alter the result; the smallest
/// sum is our own rule.
[[nodiscard]] std::vector<Partition> best_partitions(const PartitionProblem& problem);

}  // namespace stagecraft::spp
