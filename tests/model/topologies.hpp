#pragma once

#include "sim/model/bandwidths.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>
#include <optional>
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

}  // namespace stagecraft::test
