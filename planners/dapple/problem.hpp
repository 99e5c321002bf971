#pragma once

#include "planners/dapple/latency.hpp"
#include "planners/dapple/placement.hpp"
#include "planners/planner.hpp"
#include "planners/shared/costs/all_reduces.hpp"
#include "planners/shared/costs/bucket_exchange.hpp"
#include "planners/shared/costs/divided_times.hpp"
#include "planners/shared/costs/pair_bandwidths.hpp"
#include "planners/shared/costs/update_exchange.hpp"
#include "sim/model/run_sums.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::dapple {

/// The devices of a stage, with the figures on which its times depend.
struct DeviceSet {
  std::vector<DeviceId> devices;  ///< ascending
  double factor = 1.0;            ///< the slowest device's
  double pass_overhead = 0.0;     ///< likewise
  AllReduceTime all_reduce;
  double update = 0.0;           ///< seconds of a replica's optimizer step per byte of the stage's parameters
  double update_overhead = 0.0;  ///< seconds of that step beside the bytes
};

/// The bandwidth of every two devices, in bytes per second.
struct PairTable {
  PairBandwidths pairs{0};       ///< of a device with itself: infinite
  double least_bandwidth = 0.0;  ///< of all pairs
  bool is_ordered = false;       ///< no pair has more bandwidth than a pair that lies inside it, in platform order

  /// The least bandwidth between a device of one list and another device of the other list, both ascending. Adds the
  /// work to `steps`. **Cost** O(1) if bandwidths are ordered, otherwise up to the product of the sizes.
  [[nodiscard]] double slowest_pair(const std::vector<DeviceId>& from, const std::vector<DeviceId>& to,
                                    double& steps) const;
};

/// Everything on which the latency of a plan depends. Layers are positions in the canonical order.
struct Problem {
  // Sums over the layers before each position, in seconds on the profile's device. **Shape** layers + 1
  std::vector<double> forward;
  std::vector<double> backward;

  RunSums parameters;
  std::vector<double> cut_bytes;         ///< bytes over the cut before each position, one way. **Shape** layers + 1
  std::vector<double> factors;           ///< by device: time factor relative to the profile
  std::vector<double> update;            ///< by device: seconds of the optimizer's step for each byte of parameters
  std::vector<double> pass_overheads;    ///< by device, in seconds
  std::vector<double> update_overheads;  ///< likewise
  PairTable channels;                    ///< between stages
  std::optional<PairTable> rings;        ///< within a stage, on the analytic network; none: as between stages
  /// As they are run; none: rings of the smallest bandwidth, as on the analytic network. Kept while devices are looked
  /// at, which changes no result. Then channels get only a part of links that nodes share, too.
  mutable std::optional<AllReduces> all_reduces;
  std::vector<Node> nodes;
  DividedTimes divided;  ///< among the devices of a stage
  /// Of gradients in buckets, for each of the sums in `divided`; none: they are exchanged after the backward.
  std::vector<BucketExchange> exchanges;
  UpdateExchange exchange;  ///< of replicas
  std::int64_t microbatches = 1;
  std::size_t most_replicas = 1;  ///< a stage divides the samples of a microbatch

  [[nodiscard]] std::size_t layers() const { return cut_bytes.size() - 1; }
  [[nodiscard]] std::size_t devices() const { return factors.size(); }

  /// **Requires** ascending devices. **Cost** O(devices of the set) plus that of `PairTable::slowest_pair` or
  /// `AllReduces::among`, added to `steps`.
  [[nodiscard]] DeviceSet device_set(std::vector<DeviceId> chosen, double& steps) const;
  /// A stage with the layers [begin, end) that divides each microbatch among its devices. Where these divide gradients
  /// or weights, a microbatch takes at least as long as its exchanges; where they gather after an update, what that
  /// takes longer than a forward counts as synchronisation, also of stages that begin later.
  [[nodiscard]] Block stage(std::size_t begin, std::size_t end, const DeviceSet& on) const {
    const Bytes weights = parameters(begin, end);
    const std::size_t count = on.devices.size();
    const DividedTimes::Sums& sums = divided.of(count);
    const double share = on.factor / divided.divisor(count);
    Block block{(sums.forward[end] - sums.forward[begin]) * share + on.pass_overhead,
                (sums.backward[end] - sums.backward[begin]) * share + on.pass_overhead,
                static_cast<double>(weights.value()) * on.update + on.update_overhead};
    const auto in_buckets = [&](std::size_t buckets) {
      return [&on, buckets](Bytes bytes) { return on.all_reduce(static_cast<double>(bytes.value()), buckets); };
    };
    const double gathered = exchange.gathered_after(weights, in_buckets(1));
    if (exchanges.empty()) {
      block.synchronise += exchange.reduced(weights, in_buckets(1)) + gathered;
      return block;
    }
    const auto seconds = [&](Bytes before, Bytes all, std::size_t buckets) {
      return exchange.reduced(all - before, in_buckets(buckets));
    };
    const BucketExchange& under = exchanges[divided.sums_index(count)];
    const double last = under.last_backward(begin, end, share, seconds) + on.pass_overhead;
    block.backward = std::max(block.backward, exchange.each_time(weights, in_buckets(1)) - block.forward);
    block.synchronise += last - block.backward;
    block.synchronise += std::max(0.0, gathered - block.forward);
    return block;
  }
  /// Bytes per second between two stages: one flow for each pair of devices, the slowest pair decides.
  /// **Cost** as `PairTable::slowest_pair`, added to `steps`.
  [[nodiscard]] double speed(const DeviceSet& from, const DeviceSet& to, double& steps) const;
  [[nodiscard]] Block channel(std::size_t cut, double speed) const {
    return {cut_bytes[cut] / speed, cut_bytes[cut] / speed, 0.0};
  }
};

/// **Throws** InputError if devices are not connected, a speed is not known or there are more than 8,192 devices.
/// **Cost** O(devices² · links on a route), 8 bytes of memory for each ordered pair, 16 while it is made and with
/// `transport: host`.
[[nodiscard]] Problem problem_of(const PlanRequest& request);

struct PlacedStage {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<DeviceId> devices;
  friend bool operator==(const PlacedStage&, const PlacedStage&) = default;
};

/// The blocks of a plan: stage, channel, stage, …
[[nodiscard]] std::vector<Block> blocks_of(const Problem& problem, const std::vector<PlacedStage>& stages);

}  // namespace stagecraft::dapple
