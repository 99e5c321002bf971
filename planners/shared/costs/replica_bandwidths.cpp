#include "planners/shared/costs/replica_bandwidths.hpp"

#include "sim/base/error.hpp"
#include "sim/model/bandwidths.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace stagecraft {
namespace {

/// The bandwidth of a way whose links are divided among that many users each.
std::optional<BytesPerSecond> divided_bandwidth(const Platform& platform, DeviceId from, DeviceId to,
                                                const std::map<LinkId, double>& users) {
  std::vector<BytesPerSecond> legs;
  Route route;
  for (const Leg leg : boundary_legs(platform, from, to)) {
    STAGECRAFT_CHECK(find_route(platform, platform.place(from), platform.place(to), leg, route), "connected devices");
    if (route.links.empty()) continue;
    double narrowest = std::numeric_limits<double>::infinity();
    for (const LinkId link : route.links) {
      narrowest = std::min(narrowest, platform.links[link].bandwidth.value() / users.at(link));
    }
    legs.emplace_back(narrowest);
  }
  if (legs.empty()) return std::nullopt;
  return in_sequence(legs);
}

}  // namespace

bool for_each_boundary_link(const Platform& platform, DeviceId from, DeviceId to,
                            const std::function<void(LinkId)>& add) {
  Route route;
  for (const Leg leg : boundary_legs(platform, from, to)) {
    if (!find_route(platform, platform.place(from), platform.place(to), leg, route)) return false;
    for (const LinkId link : route.links) add(link);
  }
  return true;
}

ReplicaBandwidth replica_bandwidth(const Platform& platform, const std::vector<DeviceId>& from,
                                   const std::vector<DeviceId>& to) {
  STAGECRAFT_CHECK(from.size() == to.size(), "stages with equal numbers of replicas");
  std::map<LinkId, double> users;
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::set<LinkId> own;
    if (!for_each_boundary_link(platform, from[i], to[i], [&](LinkId link) { own.insert(link); })) {
      return {std::nullopt, std::pair{from[i], to[i]}};
    }
    for (const LinkId link : own) users[link] += 1.0;
  }
  ReplicaBandwidth smallest;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::optional<BytesPerSecond> pair = divided_bandwidth(platform, from[i], to[i], users);
    if (pair) smallest.bandwidth = std::min(smallest.bandwidth.value_or(*pair), *pair);
  }
  return smallest;
}

}  // namespace stagecraft
