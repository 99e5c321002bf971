#include "sim/model/bandwidths.hpp"

#include "sim/base/error.hpp"
#include "sim/model/attachment.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace stagecraft {

std::optional<BytesPerSecond> narrowest_bandwidth(const Platform& platform, const Route& route) {
  if (route.links.empty()) return std::nullopt;
  BytesPerSecond smallest = platform.links[route.links.front()].bandwidth;
  for (LinkId link : route.links) smallest = std::min(smallest, platform.links[link].bandwidth);
  return smallest;
}

std::span<const Leg> boundary_legs(const Platform& platform, DeviceId from, DeviceId to) {
  static constexpr std::array kDirect{Leg::Whole};
  static constexpr std::array kWithinHost{Leg::ToHost, Leg::FromHost};
  static constexpr std::array kBetweenHosts{Leg::ToHost, Leg::BetweenHosts, Leg::FromHost};
  if (platform.spec.transport == Transport::Direct) return kDirect;
  STAGECRAFT_CHECK(!platform.devices[from].host.is_none() && !platform.devices[to].host.is_none(),
                   "with transport host every device has a host");
  if (platform.devices[from].host == platform.devices[to].host) return kWithinHost;
  return kBetweenHosts;
}

BytesPerSecond in_sequence(std::span<const BytesPerSecond> bandwidths) {
  if (bandwidths.size() == 1) return bandwidths.front();
  double seconds_per_byte = 0.0;
  for (BytesPerSecond each : bandwidths) seconds_per_byte += 1.0 / each.value();
  return BytesPerSecond(1.0 / seconds_per_byte);
}

std::optional<PairCost> pair_cost(const Platform& platform, DeviceId from, DeviceId to, PairUse use, Route& route) {
  static constexpr std::array kDirect{Leg::Whole};
  if (from == to) return PairCost{};
  const std::span<const Leg> legs = use == PairUse::Collective ? kDirect : boundary_legs(platform, from, to);
  PairCost cost;
  std::array<BytesPerSecond, 3> bandwidths{};
  std::size_t count = 0;
  for (Leg leg : legs) {
    if (!find_route(platform, platform.place(from), platform.place(to), leg, route)) return std::nullopt;
    cost.latency += route.latency;
    if (const auto bandwidth = narrowest_bandwidth(platform, route)) bandwidths[count++] = *bandwidth;
  }
  if (count > 0) cost.bandwidth = in_sequence(std::span(bandwidths).first(count));
  return cost;
}

std::optional<PairCost> pair_cost(const Platform& platform, DeviceId from, DeviceId to, PairUse use) {
  Route route;
  return pair_cost(platform, from, to, use, route);
}

std::optional<BytesPerSecond> pair_bandwidth(const Platform& platform, DeviceId from, DeviceId to, PairUse use) {
  const std::optional<PairCost> cost = pair_cost(platform, from, to, use);
  return cost ? cost->bandwidth : std::nullopt;
}

void SmallestBandwidth::add(const Platform& platform, DeviceId from, DeviceId to, PairUse use) {
  if (from == to) return;
  const std::optional<BytesPerSecond> pair = pair_bandwidth(platform, from, to, use);
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
                                               const std::vector<DeviceId>& b, PairUse use) {
  constexpr std::size_t kFew = 64;  // as fast to look at as to sort by attachment
  if (a.size() * b.size() > kFew) {
    const std::optional<SmallestBandwidth> alike = smallest_bandwidth_by_attachment(platform, a, b, use);
    if (alike && !alike->apart) return *alike;
  }
  SmallestBandwidth smallest;
  for (DeviceId one : a) {
    for (DeviceId other : b) smallest.add_both_ways(platform, one, other, use);
  }
  return smallest;
}

SmallestBandwidth smallest_bandwidth_around(const Platform& platform, const std::vector<DeviceId>& ring) {
  SmallestBandwidth smallest;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    smallest.add(platform, ring[i], ring[(i + 1) % ring.size()], PairUse::Collective);
  }
  return smallest;
}

}  // namespace stagecraft
