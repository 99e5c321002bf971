#include "planners/shared/costs/pair_bandwidths.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/schedule/boundaries.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

constexpr const char* kPairOption = "pair_bandwidth";
constexpr const char* kNominalPairs = "nominal";
constexpr const char* kSharedPairs = "shared";

/// The bandwidth from one device to another. `route` is scratch space, reused so that a million pairs need no
/// allocations.
BytesPerSecond one_way(const Platform& platform, DeviceId from, DeviceId to, PairUse use, Route& route) {
  const std::optional<PairCost> cost = pair_cost(platform, from, to, use, route);
  if (cost && cost->bandwidth) return *cost->bandwidth;
  throw InputError(
      "devices " + quote(platform.devices[from].name) + " and " + quote(platform.devices[to].name) + " of platform " +
          quote(platform.spec.name) + " are not connected",
      {},
      "this planner may put any two devices next to each other: give their nodes a nic; in an explicit platform, add a "
      "link, a route or a default_link");
}

/// What a pair gets of the links on its routes while others use them.
class LinkShares {
 public:
  LinkShares(const Platform& platform, PairShare share)
      : platform_(platform), both_ways_(share == PairShare::BothWays), routes_over_(platform.links.size()) {}

  /// Lowers the bandwidths of all pairs of a device of `one` with a device of `other`.
  void divide(const std::vector<DeviceId>& one, const std::vector<DeviceId>& other, PairBandwidths& pairs) {
    if (both_ways_) {
      count(one, other, 1);
      count(other, one, 1);
      lower(one, other, pairs);
      lower(other, one, pairs);
      count(one, other, -1);
      count(other, one, -1);
      return;
    }
    for (const auto& [from, to] : {std::pair(&one, &other), std::pair(&other, &one)}) {
      count(*from, *to, 1);
      lower(*from, *to, pairs);
      count(*from, *to, -1);
    }
  }

 private:
  const Route& route(DeviceId from, DeviceId to, Leg leg) {
    static_cast<void>(find_route(platform_, platform_.place(from), platform_.place(to), leg, route_));
    return route_;
  }
  void count(const std::vector<DeviceId>& from, const std::vector<DeviceId>& to, int by) {
    for (DeviceId a : from) {
      for (DeviceId b : to) {
        for (Leg leg : boundary_legs(platform_, a, b)) {
          for (LinkId link : route(a, b, leg).links) routes_over_[link.value()] += by;
        }
      }
    }
  }
  void lower(const std::vector<DeviceId>& from, const std::vector<DeviceId>& to, PairBandwidths& pairs) {
    for (DeviceId a : from) {
      for (DeviceId b : to) pairs.set(a, b, std::min(pairs.between(a, b), divided(a, b)));
    }
  }
  /// The bandwidth of the pair if each link is divided among all routes over it.
  BytesPerSecond divided(DeviceId from, DeviceId to) {
    std::vector<BytesPerSecond> legs;
    for (Leg leg : boundary_legs(platform_, from, to)) {
      BytesPerSecond least(kNever.value());
      for (LinkId link : route(from, to, leg).links) {
        least = std::min(least, platform_.links[link].bandwidth / routes_over_[link.value()]);
      }
      legs.push_back(least);
    }
    return in_sequence(legs);
  }

  const Platform& platform_;
  bool both_ways_;
  std::vector<double> routes_over_;  ///< routes over each link
  Route route_;                      ///< scratch space
};

BytesPerSecond slowest_between(const Stage& from, const Stage& to, const PairBandwidths& bandwidths) {
  BytesPerSecond slowest(kNever.value());
  for (DeviceId a : devices_of(from)) {
    for (DeviceId b : devices_of(to)) {
      if (a != b) slowest = std::min(slowest, bandwidths.between(a, b));
    }
  }
  return slowest;
}

}  // namespace

PairBandwidths pair_bandwidths(const Platform& platform, PairUse use) {
  PairBandwidths pairs(platform.devices.size());
  Route route;
  for (DeviceId a : indices(platform.devices)) {
    for (DeviceId b : indices<DeviceId>(a.value())) {
      pairs.set(a, b, std::min(one_way(platform, b, a, use, route), one_way(platform, a, b, use, route)));
    }
  }
  return pairs;
}

OptionInfo pair_bandwidth_option(PairShare default_share) {
  return {kPairOption,
          std::string(default_share == PairShare::Nominal ? kNominalPairs : kSharedPairs),
          "of devices in two nodes, between stages: all of a link, or their part if all devices of both talk at once",
          {kNominalPairs, kSharedPairs}};
}

PairShare pair_share(const Options& options, bool at_once) {
  if (options.word(kPairOption) == kNominalPairs) return PairShare::Nominal;
  return at_once ? PairShare::BothWays : PairShare::OneWay;
}

PairBandwidths channel_bandwidths(const Platform& platform, const PairBandwidths& rings, PairShare share) {
  const bool is_direct = platform.spec.transport == Transport::Direct;
  PairBandwidths pairs = is_direct ? rings : pair_bandwidths(platform, PairUse::Boundary);
  if (share == PairShare::Nominal) return pairs;
  const std::vector<std::vector<DeviceId>> nodes = nodes_of(platform);
  LinkShares shares(platform, share);
  for (std::size_t one = 0; one < nodes.size(); ++one) {
    for (std::size_t other = 0; other < one; ++other) shares.divide(nodes[other], nodes[one], pairs);
  }
  return pairs;
}

std::vector<Seconds> channel_times(const LayerGraph& graph, const Plan& plan, const PairBandwidths& bandwidths) {
  std::vector<Seconds> times;
  for (const Boundary& boundary : chain_boundaries(graph, plan)) {
    const Stage& from = plan.stages[boundary.from.value()];
    const Stage& to = plan.stages[boundary.to.value()];
    times.push_back(boundary.bytes / slowest_between(from, to, bandwidths) / (parts_of(from) * parts_of(to)));
  }
  return times;
}

}  // namespace stagecraft
