#include "sim/analytic/widest_network.hpp"

#include "sim/model/bandwidths.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace stagecraft {
namespace {

/// What crosses any of these links together. Whoever crosses none of them makes it infinite.
class LinkSet {
 public:
  void add(LinkId link) { links_.insert(link); }
  void add_unbounded() { is_unbounded_ = true; }
  [[nodiscard]] BytesPerSecond bandwidth(const Platform& platform) const {
    if (is_unbounded_) return BytesPerSecond(WidestNetwork::kAny);
    BytesPerSecond sum;
    for (const LinkId link : links_) sum += platform.links[link].bandwidth;
    return sum;
  }

 private:
  std::set<LinkId> links_;
  bool is_unbounded_ = false;
};

/// Two sets of links of which every route of some kind crosses one: the narrowest link of each, and the one at an end.
struct Passages {
  LinkSet narrowest;
  LinkSet at_end;

  /// Of equally narrow links the one nearest to the end counts.
  void add(const Platform& platform, const Route& route, bool leaves) {
    if (route.links.empty()) {
      narrowest.add_unbounded();
      return;
    }
    const auto width = [&](LinkId link) { return platform.links[link].bandwidth; };
    LinkId least = leaves ? route.links.front() : route.links.back();
    at_end.add(least);
    for (const LinkId link : route.links) {
      if (width(link) < width(least)) least = link;
    }
    narrowest.add(least);
  }

  [[nodiscard]] BytesPerSecond bandwidth(const Platform& platform) const {
    const BytesPerSecond all = narrowest.bandwidth(platform);
    return all.value() == WidestNetwork::kAny ? all : std::min(all, at_end.bandwidth(platform));
  }
};

/// Numbers nodes from 0. Devices without a node have one of their own.
IndexVector<DeviceId, std::size_t> numbered_nodes(const Platform& platform, WidestNetwork& widest) {
  std::map<NodeId, std::size_t> numbers;
  std::vector<std::size_t> devices;
  IndexVector<DeviceId, std::size_t> node_of;
  for (const Device& device : platform.devices) {
    std::size_t number = devices.size();
    if (!device.node.is_none()) number = numbers.emplace(device.node, number).first->second;
    if (number == devices.size()) devices.push_back(0);
    ++devices[number];
    node_of.push_back(number);
  }
  widest.nodes = devices.size();
  widest.in_node = std::ranges::max(devices);
  return node_of;
}

/// The widest of them; infinite if there is none.
class Widest {
 public:
  void add(BytesPerSecond bandwidth) { largest_ = std::max(largest_, bandwidth); }
  [[nodiscard]] BytesPerSecond value() const {
    return largest_ == BytesPerSecond() ? BytesPerSecond(WidestNetwork::kAny) : largest_;
  }

 private:
  BytesPerSecond largest_;
};

}  // namespace

WidestNetwork widest_network(const Platform& platform) {
  WidestNetwork widest;
  const IndexVector<DeviceId, std::size_t> node_of = numbered_nodes(platform, widest);
  std::vector<Passages> leaving(widest.nodes);
  std::vector<Passages> entering(widest.nodes);
  Widest transfers;
  Widest cards;
  Widest devices;
  std::optional<Seconds> latency;
  Route route;
  for (const DeviceId from : indices(platform.devices)) {
    Passages own;
    for (const DeviceId to : indices(platform.devices)) {
      if (from == to || !find_route(platform, platform.place(from), platform.place(to), route)) continue;
      if (node_of[from] == node_of[to]) {
        own.add(platform, route, true);
        continue;
      }
      cards.add(narrowest_bandwidth(platform, route).value_or(BytesPerSecond(WidestNetwork::kAny)));
      leaving[node_of[from]].add(platform, route, true);
      entering[node_of[to]].add(platform, route, false);
      if (const auto cost = pair_cost(platform, from, to, PairUse::Boundary, route)) {
        transfers.add(cost->bandwidth.value_or(BytesPerSecond(WidestNetwork::kAny)));
        latency = std::min(latency.value_or(cost->latency), cost->latency);
      }
    }
    devices.add(own.bandwidth(platform));
  }
  Widest nodes;
  for (const Passages& passages : leaving) nodes.add(passages.bandwidth(platform));
  for (const Passages& passages : entering) nodes.add(passages.bandwidth(platform));
  widest.between = transfers.value();
  widest.latency = latency.value_or(Seconds());
  widest.card = cards.value();
  widest.of_node = nodes.value();
  widest.inside = devices.value();
  return widest;
}

}  // namespace stagecraft
