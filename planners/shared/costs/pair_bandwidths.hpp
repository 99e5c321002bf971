#pragma once

#include "planners/planner.hpp"
#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft {

/// The bandwidth of every pair of devices, the same in both directions.
class PairBandwidths {
 public:
  /// All pairs start with `bandwidth`; `set` changes single ones.
  explicit PairBandwidths(std::size_t devices, BytesPerSecond bandwidth = BytesPerSecond(1))
      : size_(devices), values_(devices * devices, bandwidth) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] BytesPerSecond between(DeviceId a, DeviceId b) const { return values_[at(a, b)]; }
  void set(DeviceId a, DeviceId b, BytesPerSecond bandwidth) {
    values_[at(a, b)] = bandwidth;
    values_[at(b, a)] = bandwidth;
  }

 private:
  [[nodiscard]] std::size_t at(DeviceId a, DeviceId b) const { return a.value() * size_ + b.value(); }

  std::size_t size_;
  std::vector<BytesPerSecond> values_;
};

/// The bandwidth of each pair for boundary tensors or for rings; the smaller of both directions.
/// **Throws** InputError naming two devices that are not connected.
/// **Cost** O(devices² · links on a route), about 0.2 s for 1,024 devices; 8 bytes of memory for each ordered pair.
[[nodiscard]] PairBandwidths pair_bandwidths(const Platform& platform, PairUse use = PairUse::Boundary);

/// What a channel between stages is thought to get of a link that two nodes have between them.
enum class PairShare : std::uint8_t {
  Nominal,   ///< each pair of devices gets all of it
  OneWay,    ///< an equal part while all devices of one node send to all of the other one
  BothWays,  ///< the same while the other node sends, too, which matters for half-duplex links
};

/// The option `pair_bandwidth`.
[[nodiscard]] OptionInfo pair_bandwidth_option(PairShare default_share);
/// What the option asks for. A planner whose channels carry both directions `at_once` asks for `BothWays`.
[[nodiscard]] PairShare pair_share(const Options& options, bool at_once);

/// The bandwidths that are left for channels between stages: those of boundary tensors, and for devices of two nodes at
/// most an equal part of each link on their way, which all pairs of the two nodes whose ways cross it divide. Links
/// between devices of one node, and platforms without nodes, are not divided.
/// **Requires** the platform's `pair_bandwidths` for rings, which with direct transport are those of boundary tensors
/// too. **Cost** twice that of `pair_bandwidths`.
[[nodiscard]] PairBandwidths channel_bandwidths(const Platform& platform, const PairBandwidths& rings, PairShare share);

/// The time of a transfer over each of the plan's boundaries, one way: one flow for each pair of parts, of which that
/// with the smallest of the bandwidths takes longest. With nominal ones it is `channel_time`.
/// **Requires** stages of one pipeline. **Cost** O(layers + edges + pairs of devices in stages that follow each other).
[[nodiscard]] std::vector<Seconds> channel_times(const LayerGraph& graph, const Plan& plan,
                                                 const PairBandwidths& bandwidths);

}  // namespace stagecraft
