// Boundary tensors that pass through host memory: their legs, what they cross and what they cost.
#include "tests/model/topologies.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace stagecraft::test {
namespace {

/// The links of each leg of the way between two devices: `gpu0.up | node0.nic.up node1.nic.down | gpu1.down`.
std::string legs(const Platform& platform, std::uint32_t from, std::uint32_t to) {
  std::string text;
  Route route;
  for (Leg leg : boundary_legs(platform, DeviceId(from), DeviceId(to))) {
    if (!text.empty()) text += " | ";
    REQUIRE(find_route(platform, platform.place(DeviceId(from)), platform.place(DeviceId(to)), leg, route));
    std::string links;
    for (LinkId link : route.links) links += (links.empty() ? "" : " ") + platform.links[link].name;
    text += links;
  }
  return text;
}

Platform with_transport(NodeForm form) {
  PlatformSpec spec = built(std::move(form)).spec;
  spec.transport = Transport::Host;
  return build_platform(std::move(spec));
}

/// Two PCIe switches of two devices each, at 12 and 8 B/s with 1 s each, and a NIC of 3 B/s with 5 s.
NodeForm trees(std::uint32_t nodes) {
  NodeForm form = nodes_of(nodes, 4, Interconnect{PcieNode{2, link_of(8, 1), 0, {}}, link_of(12, 1)}, {},
                           NicSpec{link_of(3, 5), false});
  form.node_kinds[NodeKindId(0)].host = HostSpec{Bytes(1000), std::nullopt, 1};
  return form;
}

TEST_CASE("transport: direct ways have one leg, the route itself") {
  const Platform platform = built(trees(2));
  CHECK(std::ranges::equal(boundary_legs(platform, DeviceId(0), DeviceId(4)), std::vector{Leg::Whole}));
  CHECK(legs(platform, 0, 4) == "gpu0.up node0.switch0.up node0.nic.up node1.nic.down node1.switch0.down gpu4.down");
  CHECK(pair_cost(platform, DeviceId(0), DeviceId(4)) == PairCost{Seconds(14), BytesPerSecond(3)});
}

TEST_CASE("transport: over hosts a tensor climbs the sender's tree, crosses the network and descends") {
  const Platform platform = with_transport(trees(2));
  CHECK(legs(platform, 0, 4) ==
        "gpu0.up node0.switch0.up | node0.nic.up node1.nic.down | node1.switch0.down gpu4.down");
  CHECK(legs(platform, 6, 1) ==
        "gpu6.up node1.switch1.up | node1.nic.up node0.nic.down | node0.switch0.down gpu1.down");
  // In one node, and even under one switch, it goes up to host memory and down again.
  CHECK(legs(platform, 0, 1) == "gpu0.up node0.switch0.up | node0.switch0.down gpu1.down");
  CHECK(legs(platform, 0, 3) == "gpu0.up node0.switch0.up | node0.switch1.down gpu3.down");
  // A byte takes 1/8 + 1/3 + 1/8 s between nodes and 1/8 + 1/8 s inside; latencies add up: 2 + 10 + 2, and 2 + 2.
  const PairCost between = pair_cost(platform, DeviceId(0), DeviceId(4)).value();
  CHECK(between.latency == Seconds(14));
  CHECK(between.bandwidth->value() == doctest::Approx(12.0 / 7).epsilon(1e-12));
  const PairCost inside = pair_cost(platform, DeviceId(0), DeviceId(1)).value();
  CHECK(inside.latency == Seconds(4));
  CHECK(inside.bandwidth->value() == doctest::Approx(4).epsilon(1e-12));
  // Collectives go straight.
  CHECK(pair_cost(platform, DeviceId(0), DeviceId(4), PairUse::Collective) == PairCost{Seconds(14), BytesPerSecond(3)});
  CHECK(pair_bandwidth(platform, DeviceId(0), DeviceId(1), PairUse::Collective) == BytesPerSecond(12));
}

TEST_CASE("transport: a host link that devices share, and a card of the device's own") {
  NodeForm form = nodes_of(2, 2, Interconnect{SwitchedNode{}, link_of(50)}, {}, NicSpec{link_of(4), true});
  form.node_kinds[NodeKindId(0)].host = HostSpec{Bytes(1000), link_of(8), 2};
  const Platform platform = with_transport(std::move(form));
  CHECK(legs(platform, 1, 2) == "host0.link0.up | gpu1.nic.up gpu2.nic.down | host1.link0.down");
  CHECK(legs(platform, 0, 1) == "host0.link0.up | host0.link0.down");
}

TEST_CASE("transport: devices of a node without interconnect are connected through their host") {
  NodeForm form = nodes_of(1, 2, std::nullopt);
  form.node_kinds[NodeKindId(0)].host = HostSpec{Bytes(1000), link_of(8), 1};
  CHECK_FALSE(pair_cost(built(form), DeviceId(0), DeviceId(1)));
  const Platform platform = with_transport(form);
  CHECK(pair_bandwidth(platform, DeviceId(0), DeviceId(1)) == BytesPerSecond(4));
  CHECK(smallest_pair_bandwidth(platform) == BytesPerSecond(4));
  CHECK_FALSE(pair_cost(platform, DeviceId(0), DeviceId(1), PairUse::Collective));
  CHECK_FALSE(smallest_pair_bandwidth(platform, PairUse::Collective));
}

TEST_CASE("transport: in the explicit form hosts exchange tensors over the links of their devices") {
  PlatformSpec spec;
  spec.device_kinds.push_back({"A", Bytes(1000), 1.0, Bytes(0), std::nullopt});
  spec.transport = Transport::Host;
  ExplicitForm explicit_form;
  for (const char* name : {"a", "b", "c"}) {
    explicit_form.devices.push_back({name, DeviceKindId(0), HostSpec{Bytes(1000), link_of(6, 1), 1}});
  }
  explicit_form.links.push_back({"", std::pair(DeviceId(0), DeviceId(1)), link_of(3, 2)});
  spec.form = explicit_form;
  const Platform platform = build_platform(std::move(spec));
  CHECK(legs(platform, 0, 1) == "a.host.up | a->b | b.host.down");
  CHECK(pair_cost(platform, DeviceId(1), DeviceId(0))->latency == Seconds(4));
  CHECK(pair_bandwidth(platform, DeviceId(1), DeviceId(0))->value() == doctest::Approx(1.5).epsilon(1e-12));
  CHECK_FALSE(pair_cost(platform, DeviceId(0), DeviceId(2)));
  CHECK_FALSE(smallest_pair_bandwidth(platform));
}

TEST_CASE("transport: the ends of a leg are devices and hosts") {
  const Platform platform = with_transport(trees(2));
  const auto ends = [&](Leg leg) {
    const auto [from, to] = ends_of(platform, PlaceId(0), PlaceId(4), leg);
    return platform.place_name(from) + "->" + platform.place_name(to);
  };
  CHECK(ends(Leg::Whole) == "gpu0->gpu4");
  CHECK(ends(Leg::ToHost) == "gpu0->host0");
  CHECK(ends(Leg::BetweenHosts) == "host0->host1");
  CHECK(ends(Leg::FromHost) == "host1->gpu4");
}

TEST_CASE("transport: PipeDream's levels have a bandwidth for boundaries, too") {
  // Level 1: devices at 12 B/s, their boundaries up and down a tree of 8 B/s. Level 2: cards of 3 B/s.
  const std::vector<Level> direct = levels(built(trees(2)));
  CHECK(direct == std::vector<Level>{{4, BytesPerSecond(12)}, {2, BytesPerSecond(3)}});
  CHECK(direct[0].boundary_bandwidth() == BytesPerSecond(12));
  const std::vector<Level> over_hosts = levels(with_transport(trees(2)));
  REQUIRE(over_hosts.size() == 2);
  CHECK(over_hosts[0].bandwidth == BytesPerSecond(12));
  CHECK(over_hosts[0].boundary_bandwidth() == BytesPerSecond(4));
  CHECK(over_hosts[1].bandwidth == BytesPerSecond(3));
  CHECK(over_hosts[1].boundary_bandwidth().value() == doctest::Approx(12.0 / 7).epsilon(1e-12));
}

/// One to three kinds of nodes with trees or switches, cards of the node or of the device.
NodeForm random_cluster(std::mt19937& random) {
  const auto number = [&](std::uint32_t below) { return static_cast<std::uint32_t>(random() % below); };
  NodeForm form;
  const std::uint32_t kinds = 1 + number(3);
  for (std::uint32_t k = 0; k < kinds; ++k) {
    NodeForm one = trees(1);
    NodeKind& kind = one.node_kinds[NodeKindId(0)];
    kind.device_count = 1 + number(5);
    kind.interconnect->link = link_of(1 + number(20));
    std::get<PcieNode>(kind.interconnect->shape).uplink = link_of(1 + number(20));
    if (number(2) == 0) kind.interconnect->shape = SwitchedNode{};
    const bool has_tree = std::holds_alternative<PcieNode>(kind.interconnect->shape);
    if (!has_tree || number(2) == 0) kind.host->link = link_of(1 + number(20));
    kind.nic = NicSpec{link_of(1 + number(20)), number(2) == 0};
    form.node_kinds.push_back(kind);
    form.groups.push_back({NodeKindId(k), 1 + number(2)});
  }
  return form;
}

TEST_CASE("transport: the smallest bandwidth of a boundary is that of all pairs (seeds 1 to 200)") {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const Platform platform = with_transport(random_cluster(random));
    if (platform.devices.size() == 1) continue;
    double smallest = 1e9;
    for (DeviceId a : indices(platform.devices)) {
      for (DeviceId b : indices(platform.devices)) {
        if (a != b) smallest = std::min(smallest, pair_bandwidth(platform, a, b)->value());
      }
    }
    CHECK(smallest_pair_bandwidth(platform)->value() == doctest::Approx(smallest).epsilon(1e-12));
  }
}

}  // namespace
}  // namespace stagecraft::test
