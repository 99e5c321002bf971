#include "planners/shared/pair_bandwidths.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/bandwidths.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

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

}  // namespace

PairBandwidths pair_bandwidths(const Platform& platform) {
  PairBandwidths pairs(platform.devices.size());
  Route route;
  for (DeviceId a : indices(platform.devices)) {
    for (DeviceId b : indices<DeviceId>(a.value())) {
      pairs.set(a, b, std::min(one_way(platform, b, a, route), one_way(platform, a, b, route)));
    }
  }
  return pairs;
}

}  // namespace stagecraft
