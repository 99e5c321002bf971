#pragma once

#include "sim/model/platform_groups.hpp"
#include "tests/model/topologies.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft::test {

/// Clusters of every type with latencies and hosts, whose devices divide into groups.
class GroupedClusters {
 public:
  explicit GroupedClusters(std::uint32_t seed) : clusters_(seed), random_(seed) {}

  std::uint32_t count(std::uint32_t least, std::uint32_t most) {
    return std::uniform_int_distribution<std::uint32_t>(least, most)(random_);
  }

  /// Nodes that divide into groups of `size`; one in ten has groups that may lie on several nodes.
  NodeForm next(std::uint32_t size) {
    NodeForm form = clusters_.next();
    const bool straddles = count(0, 9) == 0;
    for (NodeKind& kind : form.node_kinds) vary(kind, size, straddles);
    if (straddles) {
      for (NodeGroup& group : form.groups) group.count *= size;
      if (auto* torus = std::get_if<TorusNetwork>(&form.network)) torus->sizes.back() *= size;
    }
    std::visit([&](auto& network) { delay(network); }, form.network);
    return form;
  }

  LinkSpec link() {
    return {BytesPerSecond(count(1, 100)), Seconds(count(0, 5)), count(0, 3) == 0 ? Duplex::Half : Duplex::Full,
            Sharing::Fair};
  }

 private:
  /// A number of neighbours out of `all` that divides these.
  std::uint32_t divisor(std::uint32_t all) {
    std::uint32_t chosen = count(1, all);
    while (all % chosen != 0) --chosen;
    return chosen;
  }
  void vary(NodeKind& kind, std::uint32_t size, bool straddles) {
    Interconnect& inside = *kind.interconnect;
    inside.link = link();
    const bool is_mesh = std::holds_alternative<CubeMeshNode>(inside.shape);
    if (is_mesh && 8 % size != 0) inside.shape = FullNode{};
    if (!straddles && (!is_mesh || 8 % size != 0)) kind.device_count *= size;
    auto* tree = std::get_if<PcieNode>(&inside.shape);
    if (tree != nullptr) *tree = {count(1, 2 * size), link(), count(0, 3), link()};
    kind.nic = {link(), count(0, 2) > 0};
    if (kind.nic->per_device) kind.nic->shared_by = divisor(kind.device_count);
    kind.host = HostSpec{Bytes(count(1, 1000)), std::nullopt, 1};
    if (tree != nullptr && count(0, 1) == 0) return;
    kind.host->link = link();
    kind.host->shared_by = count(1, 2 * size);
  }
  void delay(SwitchedNetwork& network) {
    if (network.port) network.port = link();
  }
  void delay(FullNetwork& network) { network.link = link(); }
  void delay(TorusNetwork& network) { network.link = link(); }
  void delay(FatTreeNetwork& network) {
    if (network.port) network.port = link();
    for (FatTreeLevel& level : network.levels) level.latency = Seconds(count(0, 5));
  }
  void delay(DragonflyNetwork& network) { network.local_link = network.global_link = link(); }
  void delay(RailsNetwork& network) { network.uplink = link(); }

  RandomClusters clusters_;
  std::mt19937 random_;
};

/// Whether a tree spreads pairs over several uplinks, which no platform of groups does as the whole does it.
inline bool spreads_pairs(const Platform& platform) {
  const auto* form = std::get_if<NodeForm>(&platform.spec.form);
  const auto* tree = form == nullptr ? nullptr : std::get_if<FatTreeNetwork>(&form->network);
  return tree != nullptr && std::ranges::any_of(tree->levels, [](const auto& level) { return level.uplinks > 1; });
}

/// The seconds until the links have carried `bytes` for each of some ways at the same time; none if one is none.
inline std::optional<double> joint_time(const Platform& platform, const std::vector<std::pair<PlaceId, PlaceId>>& ways,
                                        double bytes) {
  std::map<LinkId, double> loads;
  double latency = 0.0;
  Route route;
  for (const auto& [from, to] : ways) {
    if (!find_route(platform, from, to, route)) return std::nullopt;
    latency = std::max(latency, route.latency.value());
    for (const LinkId link : route.links) loads[link] += bytes / platform.links[link].bandwidth.value();
  }
  double longest = 0.0;
  for (const auto& [_, load] : loads) longest = std::max(longest, load);
  return latency + longest;
}

}  // namespace stagecraft::test
