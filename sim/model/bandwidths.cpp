#include "sim/model/bandwidths.hpp"

#include <algorithm>
#include <cstddef>

namespace stagecraft {

std::optional<BytesPerSecond> narrowest_bandwidth(const Platform& platform, const Route& route) {
  if (route.links.empty()) return std::nullopt;
  BytesPerSecond smallest = platform.links[route.links.front()].bandwidth;
  for (LinkId link : route.links) smallest = std::min(smallest, platform.links[link].bandwidth);
  return smallest;
}

void SmallestBandwidth::add(const Platform& platform, DeviceId from, DeviceId to) {
  if (from == to) return;
  const std::optional<BytesPerSecond> pair = pair_bandwidth(platform, from, to);
  if (pair) {
    bandwidth = bandwidth ? std::min(*bandwidth, *pair) : *pair;
  } else if (!apart) {
    apart = {from, to};
  }
}

SmallestBandwidth smallest_bandwidth(const Platform& platform, const std::vector<DeviceId>& from,
                                     const std::vector<DeviceId>& to) {
  SmallestBandwidth smallest;
  for (DeviceId a : from) {
    for (DeviceId b : to) smallest.add(platform, a, b);
  }
  return smallest;
}

SmallestBandwidth smallest_bandwidth_both_ways(const Platform& platform, const std::vector<DeviceId>& a,
                                               const std::vector<DeviceId>& b) {
  SmallestBandwidth smallest;
  for (DeviceId one : a) {
    for (DeviceId other : b) smallest.add_both_ways(platform, one, other);
  }
  return smallest;
}

SmallestBandwidth smallest_bandwidth_around(const Platform& platform, const std::vector<DeviceId>& ring) {
  SmallestBandwidth smallest;
  for (std::size_t i = 0; i < ring.size(); ++i) smallest.add(platform, ring[i], ring[(i + 1) % ring.size()]);
  return smallest;
}

}  // namespace stagecraft
