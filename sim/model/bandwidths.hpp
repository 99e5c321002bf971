#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace stagecraft {

/// The smallest bandwidth of a route's links; none if it crosses no link.
[[nodiscard]] std::optional<BytesPerSecond> narrowest_bandwidth(const Platform& platform, const Route& route);

/// What two devices send each other. Only boundary tensors take the platform's `transport`.
enum class PairUse : std::uint8_t { Boundary, Collective };

/// The legs of the way of a boundary tensor between two devices. **Requires** different devices.
[[nodiscard]] std::span<const Leg> boundary_legs(const Platform& platform, DeviceId from, DeviceId to);

/// What a transfer from one device to another costs while it is alone: latency + bytes / bandwidth.
struct PairCost {
  Seconds latency;
  /// The smallest on the route. If the transfer has several legs, the reciprocal of the sum of their reciprocals, as
  /// each takes its time. None if no link is crossed.
  std::optional<BytesPerSecond> bandwidth;
  friend bool operator==(const PairCost&, const PairCost&) = default;
};
/// None if the devices are not connected. The one place where planners learn what a boundary costs. `route` is scratch
/// space: a caller that asks for many pairs reuses its memory. **Cost** O(links of the way).
[[nodiscard]] std::optional<PairCost> pair_cost(const Platform& platform, DeviceId from, DeviceId to, PairUse use,
                                                Route& route);
[[nodiscard]] std::optional<PairCost> pair_cost(const Platform& platform, DeviceId from, DeviceId to,
                                                PairUse use = PairUse::Boundary);

/// The bandwidth of a pair as planners see it, without latency; none if unconnected.
[[nodiscard]] std::optional<BytesPerSecond> pair_bandwidth(const Platform& platform, DeviceId from, DeviceId to,
                                                           PairUse use = PairUse::Boundary);

/// The smallest bandwidth over all pairs of devices; none if a pair is unconnected or there is only one device. With
/// `transport: host` on nodes of several kinds it is no larger than that: routes between nodes count with the smallest
/// bandwidth of any.
/// **Cost** O(node kinds²) in the node form, O(devices²) in the explicit form.
[[nodiscard]] std::optional<BytesPerSecond> smallest_pair_bandwidth(const Platform& platform,
                                                                    PairUse use = PairUse::Boundary);

/// The bandwidth of transfers that follow each other.
[[nodiscard]] BytesPerSecond in_sequence(std::span<const BytesPerSecond> bandwidths);

/// The smallest bandwidth of pairs of devices, each in one direction.
struct SmallestBandwidth {
  std::optional<BytesPerSecond> bandwidth;             ///< of the pairs that are connected; none if none is
  std::optional<std::pair<DeviceId, DeviceId>> apart;  ///< the first pair that is not connected

  /// Takes one more pair into account. A device with itself does not count.
  void add(const Platform& platform, DeviceId from, DeviceId to, PairUse use = PairUse::Boundary);
  /// Takes both directions of a pair into account.
  void add_both_ways(const Platform& platform, DeviceId a, DeviceId b, PairUse use = PairUse::Boundary) {
    add(platform, a, b, use);
    add(platform, b, a, use);
  }
};

/// Of boundary tensors, over all pairs of a device of one list and one of another.
/// **Cost** O(product of the sizes · links on a route).
[[nodiscard]] SmallestBandwidth smallest_bandwidth(const Platform& platform, const std::vector<DeviceId>& from,
                                                   const std::vector<DeviceId>& to);

/// The same over both directions of each pair.
/// **Cost** in the explicit form O(product of the sizes), in the node form that of `smallest_bandwidth_by_attachment`
/// unless pairs are few or some are not connected.
[[nodiscard]] SmallestBandwidth smallest_bandwidth_both_ways(const Platform& platform, const std::vector<DeviceId>& a,
                                                             const std::vector<DeviceId>& b,
                                                             PairUse use = PairUse::Boundary);

/// Of a collective, over all pairs of a device in a ring and the next one.
[[nodiscard]] SmallestBandwidth smallest_bandwidth_around(const Platform& platform, const std::vector<DeviceId>& ring);

}  // namespace stagecraft
