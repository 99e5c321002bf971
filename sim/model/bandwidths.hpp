#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/platform.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {

/// The smallest bandwidth of a route's links; none if it crosses no link.
[[nodiscard]] std::optional<BytesPerSecond> narrowest_bandwidth(const Platform& platform, const Route& route);

/// The smallest bandwidth of pairs of devices, each in one direction.
struct SmallestBandwidth {
  std::optional<BytesPerSecond> bandwidth;             ///< of the pairs that are connected; none if none is
  std::optional<std::pair<DeviceId, DeviceId>> apart;  ///< the first pair that is not connected

  /// Takes one more pair into account. A device with itself does not count.
  void add(const Platform& platform, DeviceId from, DeviceId to);
  /// Takes both directions of a pair into account.
  void add_both_ways(const Platform& platform, DeviceId a, DeviceId b) {
    add(platform, a, b);
    add(platform, b, a);
  }
};

/// Over all pairs of a device of one list and one of another. **Cost** O(product of the sizes · links on a route).
[[nodiscard]] SmallestBandwidth smallest_bandwidth(const Platform& platform, const std::vector<DeviceId>& from,
                                                   const std::vector<DeviceId>& to);

/// The same over both directions of each pair.
[[nodiscard]] SmallestBandwidth smallest_bandwidth_both_ways(const Platform& platform, const std::vector<DeviceId>& a,
                                                             const std::vector<DeviceId>& b);

/// Over all pairs of a device in a ring and the next one.
[[nodiscard]] SmallestBandwidth smallest_bandwidth_around(const Platform& platform, const std::vector<DeviceId>& ring);

}  // namespace stagecraft
