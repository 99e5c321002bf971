#include "planners/shared/pair_bandwidths.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/bandwidths.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

constexpr const char* kOption = "pair_bandwidth";
constexpr const char* kNominal = "nominal";
constexpr const char* kShared = "shared";

/// The bandwidth from one device to another. `route` is scratch space, reused so that a million pairs need no
/// allocations.
BytesPerSecond one_way(const Platform& platform, DeviceId from, DeviceId to, Route& route) {
  const bool is_connected = find_route(platform, platform.place(from), platform.place(to), route);
  const auto bandwidth = is_connected ? narrowest_bandwidth(platform, route) : std::nullopt;
  if (bandwidth) return *bandwidth;
  throw InputError(
      "devices " + quote(platform.devices[from].name) + " and " + quote(platform.devices[to].name) + " of platform " +
          quote(platform.spec.name) + " are not connected",
      {},
      "this planner may put any two devices next to each other: give their nodes a nic; in an explicit platform, add a "
      "link, a route or a default_link");
}

struct RoutedPair {
  DeviceId a;
  DeviceId b;
  Route there;
  Route back;
};

/// Each device of one node with each of another one.
std::vector<RoutedPair> routed_pairs(const Platform& platform, const std::vector<DeviceId>& one,
                                     const std::vector<DeviceId>& other) {
  std::vector<RoutedPair> pairs;
  for (DeviceId a : one) {
    for (DeviceId b : other) {
      RoutedPair& pair = pairs.emplace_back(RoutedPair{a, b, {}, {}});
      static_cast<void>(find_route(platform, platform.place(a), platform.place(b), pair.there));
      static_cast<void>(find_route(platform, platform.place(b), platform.place(a), pair.back));
    }
  }
  return pairs;
}

/// Divides each link among the routes that cross it, both ways at once.
class LinkShares {
 public:
  explicit LinkShares(const Platform& platform) : platform_(platform), crossing_(platform.links.size()) {}

  void divide(const std::vector<RoutedPair>& routed, PairBandwidths& pairs) {
    for (const RoutedPair& pair : routed) count(pair, 1);
    for (const RoutedPair& pair : routed) {
      pairs.set(
          pair.a, pair.b,
          std::min(share(pair.there, pairs.between(pair.a, pair.b)), share(pair.back, pairs.between(pair.a, pair.b))));
    }
    for (const RoutedPair& pair : routed) count(pair, -1);
  }

 private:
  void count(const RoutedPair& pair, std::int64_t by) {
    for (LinkId link : pair.there.links) crossing_[link.value()] += by;
    for (LinkId link : pair.back.links) crossing_[link.value()] += by;
  }

  [[nodiscard]] BytesPerSecond share(const Route& route, BytesPerSecond most) const {
    for (LinkId link : route.links) {
      most = std::min(most, platform_.links[link].bandwidth / static_cast<double>(crossing_[link.value()]));
    }
    return most;
  }

  const Platform& platform_;
  std::vector<std::int64_t> crossing_;  ///< routes over each link
};

void share_between_nodes(const Platform& platform, PairBandwidths& pairs) {
  std::map<NodeId, std::vector<DeviceId>> nodes;
  for (DeviceId device : indices(platform.devices)) nodes[platform.devices[device].node].push_back(device);
  LinkShares shares(platform);
  for (auto one = nodes.begin(); one != nodes.end(); ++one) {
    for (auto other = nodes.begin(); other != one; ++other) {
      shares.divide(routed_pairs(platform, other->second, one->second), pairs);
    }
  }
}

}  // namespace

OptionInfo pair_bandwidth_option(PairShare default_share) {
  return {kOption,
          std::string(default_share == PairShare::Shared ? kShared : kNominal),
          "bandwidth of devices in two nodes: all of their route's, or their part if all devices of both talk at once",
          {kNominal, kShared}};
}

PairShare pair_share(const Options& options) {
  return options.word(kOption) == kShared ? PairShare::Shared : PairShare::Nominal;
}

PairBandwidths pair_bandwidths(const Platform& platform, PairShare share) {
  PairBandwidths pairs(platform.devices.size());
  Route route;
  for (DeviceId a : indices(platform.devices)) {
    for (DeviceId b : indices<DeviceId>(a.value())) {
      pairs.set(a, b, std::min(one_way(platform, b, a, route), one_way(platform, a, b, route)));
    }
  }
  if (share == PairShare::Shared) share_between_nodes(platform, pairs);
  return pairs;
}

}  // namespace stagecraft
