#pragma once

#include "sim/model/bandwidths.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::test {

inline LinkSpec link_of(double bandwidth, double latency = 0.0, Duplex duplex = Duplex::Full) {
  return {BytesPerSecond(bandwidth), Seconds(latency), duplex, Sharing::Fair};
}

/// Nodes of one kind; a test changes what it is about.
inline NodeForm nodes_of(std::uint32_t nodes, std::uint32_t devices, std::optional<Interconnect> inside,
                         Network network = SwitchedNetwork{}, std::optional<NicSpec> nic = std::nullopt) {
  NodeForm form;
  NodeKind kind;
  kind.name = "node";
  kind.device_kind = DeviceKindId(0);
  kind.device_count = devices;
  kind.interconnect = std::move(inside);
  kind.nic = nic;
  form.node_kinds.push_back(kind);
  form.groups = {{NodeKindId(0), nodes}};
  form.network = std::move(network);
  return form;
}

inline Platform built(NodeForm form) {
  PlatformSpec spec;
  spec.name = "test";
  spec.device_kinds.push_back({"A", Bytes(std::int64_t{1} << 40), 1.0, Bytes(0), std::nullopt});
  spec.form = std::move(form);
  return build_platform(std::move(spec));
}

/// The names of the links from one place to another and the latency: `gpu0.up gpu1.down 2`; `-` if unconnected.
inline std::string way(const Platform& platform, PlaceId from, PlaceId to) {
  Route route;
  if (!find_route(platform, from, to, route)) return "-";
  std::string text;
  for (LinkId crossed : route.links) text += platform.links[crossed].name + " ";
  return text + std::to_string(static_cast<int>(route.latency.value()));
}
inline std::string way(const Platform& platform, std::uint32_t from, std::uint32_t to) {
  return way(platform, platform.place(DeviceId(from)), platform.place(DeviceId(to)));
}

/// Clusters of every type, small enough to look at all pairs.
class RandomClusters {
 public:
  explicit RandomClusters(std::uint32_t seed) : random_(seed) {}

  NodeForm next() {
    NodeForm form;
    const std::uint32_t groups = count(1, 2);
    std::uint32_t nodes = 0;
    for (std::uint32_t i = 0; i < groups; ++i) {
      NodeKind kind;
      kind.name = "kind" + std::to_string(i);
      kind.device_kind = DeviceKindId(0);
      kind.interconnect = {shape(), link()};
      const bool is_mesh = std::holds_alternative<CubeMeshNode>(kind.interconnect->shape);
      kind.device_count = is_mesh ? 8 : count(1, 7);
      kind.nic = {link(), count(0, 1) == 1};
      const std::uint32_t sharers = count(1, 4);
      if (kind.nic->per_device && kind.device_count % sharers == 0) kind.nic->shared_by = sharers;
      form.node_kinds.push_back(kind);
      form.groups.push_back({NodeKindId(i), count(1, 5)});
      nodes += form.groups.back().count;
    }
    form.network = network(nodes);
    return form;
  }

 private:
  std::uint32_t count(std::uint32_t least, std::uint32_t most) {
    return std::uniform_int_distribution<std::uint32_t>(least, most)(random_);
  }
  LinkSpec link() {
    return {BytesPerSecond(count(1, 100)), Seconds(0), count(0, 3) == 0 ? Duplex::Half : Duplex::Full, Sharing::Fair};
  }
  decltype(Interconnect::shape) shape() {
    switch (count(0, 4)) {
      case 0: return SwitchedNode{};
      case 1: return FullNode{};
      case 2: return RingNode{};
      case 3: return CubeMeshNode{{{0, count(1, 3)}}};
      default: return PcieNode{count(1, 3), link(), count(0, 2), link()};
    }
  }
  std::optional<LinkSpec> port() { return count(0, 1) == 0 ? std::nullopt : std::optional(link()); }
  Network network(std::uint32_t nodes) {
    switch (count(0, 5)) {
      case 0: return SwitchedNetwork{port()};
      case 1: return FullNetwork{link()};
      case 2: return TorusNetwork{nodes % 2 == 0 ? std::vector{2U, nodes / 2} : std::vector{nodes}, link()};
      case 3:
        return FatTreeNetwork{{{count(1, 3), 1.0 + count(0, 3), count(1, 2), Seconds(0)},
                               {count(1, 3), 1.0 + count(0, 3), 1, Seconds(0)}},
                              port()};
      case 4: return RailsNetwork{link()};
      default: return DragonflyNetwork{count(1, 3), count(1, 2), link(), link()};
    }
  }
  std::mt19937 random_;
};

}  // namespace stagecraft::test
