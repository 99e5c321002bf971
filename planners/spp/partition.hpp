#pragma once

#include "planners/planner.hpp"
#include "planners/shared/pair_bandwidths.hpp"
#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace stagecraft::spp {

/// Which of the partitions of least load is taken.
enum class PartitionTies {
  SmallestSum,  ///< of the loads of stages and channels, then as below
  FirstFound,   ///< by the loops of the recurrence
};

/// What a partition depends on: layers of a chain and devices in a fixed order, both by position.
struct PartitionProblem {
  // Of the layers before each position. **Shape** layers + 1; the first entry is 0, and none is smaller than the one
  // before it.
  std::vector<Seconds> compute;   ///< forward and backward of one microbatch on the profile's device
  std::vector<Bytes> parameters;  ///< that replicas of a stage reduce

  std::vector<Bytes> crossing;  ///< bytes that cross the cut before each position, one way. **Shape** layers + 1
  PairBandwidths bandwidths;    ///< device ids are positions

  // Of the device at each position.
  std::vector<double> factors;                   ///< by which the profile's times grow
  std::vector<BytesPerSecond> update_bandwidth;  ///< of the optimizer's step; infinite where it costs nothing
  std::int64_t update_copies = 1;                ///< bytes that the step goes through for each byte of parameters

  std::int64_t microbatches = 1;
  std::int64_t most_replicas =
      std::numeric_limits<std::int64_t>::max();  ///< of a stage: what a microbatch divides into
  bool full_duplex = false;                      ///< a channel carries both directions at once
  bool allow_fewer = false;                      ///< devices at the end of the order may be left idle
  PartitionTies ties = PartitionTies::SmallestSum;

  [[nodiscard]] std::size_t layers() const { return crossing.size() - 1; }
  [[nodiscard]] std::size_t devices() const { return factors.size(); }
};

/// The problem of a request: layers in canonical order, devices in `order`.
/// **Requires** the bandwidths of the request's platform, and an order of all its devices.
/// **Throws** InputError where a device's speed is not known or the layers take longer than `kLongestChain`.
[[nodiscard]] PartitionProblem partition_problem(const PlanRequest& request, const PairBandwidths& bandwidths,
                                                 const std::vector<DeviceId>& order);

/// Layers [begin, end) on the devices [first, first + replicas), all by position.
struct PartitionStage {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t first = 0;
  std::size_t replicas = 1;
  friend bool operator==(const PartitionStage&, const PartitionStage&) = default;
};

struct Partition {
  Seconds load;  ///< W: no order of the microbatches is faster on the analytic network
  std::vector<PartitionStage> stages;
  friend bool operator==(const Partition&, const Partition&) = default;
};

/// **Throws** InputError where the tables of `best_partitions` would be too large or take too long: to be asked before
/// the devices are ordered, which takes minutes where there are thousands.
void require_partition_size(std::size_t layers, std::size_t devices);

/// The partition of least load for every count of stages that has one, by that count: from 1, or from as many as
/// `most_replicas` calls for, to min(layers, devices).
///
/// W(l, xi, r, i) is the least possible largest load when the first l layers form xi stages on the first i devices, the
/// last stage on the last r of them:
///   W(l, 1, r, i)  = stage(0..l, r, i), only if r = i
///   W(l, xi, r, i) = min over l' < l, r' of max(W(l', xi-1, r', i-r), channel(l', r', r, i-r), stage(l'..l, r, i))
/// with stage = M · compute · slowest factor / r + all-reduce and optimizer step, and channel = 2 M · crossing / (r' r
/// · smallest bandwidth), or half of it if the channel carries both directions at once. Since the stage does not depend
/// on r', nor the channel on l, the table holds
///   G(l', xi-1, p, r) = min over r' of max(W(l', xi-1, r', p), channel(l', r', r, p))
/// and W = min over l' of max(G(l', xi-1, i-r, r), stage). The stage falls as l' grows, so the search goes down from l'
/// = l - 1 and ends where the stage alone is no better. Plans are followed back from the table.
///
/// Ties go, with fewer devices allowed, first of all to more devices; then to the smallest sum of loads (see
/// partition_sums.hpp); then to the first found with r, l', r' ascending.
/// **Throws** InputError as `require_partition_size`.
/// **Cost** O(L V³ (L + V)) at worst, of which most is skipped, and for the smallest sums at most that for each
/// different load; 8 bytes for each of at most L V³ / 6 entries.
/// **Source** SPP (INFOCOM 2022); the separation of G is ours and changes no answer, the smallest sum is ours.
[[nodiscard]] std::vector<Partition> best_partitions(const PartitionProblem& problem);

}  // namespace stagecraft::spp
