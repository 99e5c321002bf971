// Which links a route crosses, in every interconnect and network. Bandwidths are in bytes per second, latencies in
// seconds; each link of a kind has a latency of its own, so that the sum tells what was crossed.
#include "tests/model/topologies.hpp"

#include "sim/model/interconnect.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <set>

using namespace stagecraft;
using test::built;
using test::link_of;
using test::nodes_of;
using test::RandomClusters;
using test::way;

namespace {

Interconnect inside(decltype(Interconnect::shape) shape, LinkSpec link = link_of(100, 1)) {
  return {std::move(shape), link};
}
Interconnect pcie(std::uint32_t per_switch, std::uint32_t per_socket) {
  return inside(PcieNode{per_switch, link_of(80, 10), per_socket, link_of(60, 100)});
}
NicSpec nic(double bandwidth, bool per_device = false) { return {link_of(bandwidth, 1000), per_device}; }

/// One device to a node, so that a route is the network's.
Platform network_of(std::uint32_t nodes, Network network, double nic_bandwidth = 10) {
  return built(nodes_of(nodes, 1, std::nullopt, std::move(network), NicSpec{link_of(nic_bandwidth, 0), false}));
}

/// The way without the two NICs at its ends.
std::string between_nics(const Platform& platform, std::uint32_t from, std::uint32_t to) {
  const std::string whole = way(platform, from, to);
  const std::string first = "node" + std::to_string(from) + ".nic.up ";
  const std::string last = "node" + std::to_string(to) + ".nic.down ";
  REQUIRE(whole.starts_with(first));
  const std::size_t end = whole.rfind(last);
  REQUIRE(end != std::string::npos);
  return whole.substr(first.size(), end - first.size()) + whole.substr(end + last.size());
}

double limit_of(const Platform& platform, const std::string& name) {
  const auto found = std::ranges::find(platform.links.items(), name, &Link::name);
  REQUIRE(found != platform.links.items().end());
  return found->load_limit.value();
}

constexpr double kInfinite = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("topology: full interconnect, a link for each pair") {
  const Platform platform = built(nodes_of(1, 4, inside(FullNode{})));
  CHECK(platform.links.size() == 12);
  CHECK(way(platform, 0, 3) == "gpu0->gpu3 1");
  CHECK(way(platform, 3, 0) == "gpu3->gpu0 1");
  CHECK(way(platform, 2, 1) == "gpu2->gpu1 1");
  const Platform half = built(nodes_of(1, 3, inside(FullNode{}, link_of(100, 1, Duplex::Half))));
  CHECK(half.links.size() == 3);
  CHECK(way(half, 2, 1) == "gpu1<->gpu2 1");
}

TEST_CASE("topology: one device has no more of the node's NIC than its own link carries") {
  const Platform wide = built(nodes_of(2, 2, inside(SwitchedNode{}), SwitchedNetwork{}, nic(150)));
  CHECK(way(wide, 0, 3) == "gpu0.up node0.nic.up node1.nic.down gpu3.down 2002");
  CHECK(smallest_pair_bandwidth(wide)->value() == 100);
  const Platform single = built(nodes_of(2, 1, inside(SwitchedNode{}), SwitchedNetwork{}, nic(150)));
  CHECK(way(single, 0, 1) == "gpu0.up node0.nic.up node1.nic.down gpu1.down 2002");  // alone in its node, too
  CHECK(smallest_pair_bandwidth(single)->value() == 100);
  CHECK(levels(single) == std::vector<Level>{{2, BytesPerSecond(100)}});
  const Platform narrow = built(nodes_of(2, 2, inside(SwitchedNode{}), SwitchedNetwork{}, nic(100)));
  CHECK(way(narrow, 0, 3) == "node0.nic.up node1.nic.down 2000");
  const Platform own = built(nodes_of(2, 2, inside(SwitchedNode{}), SwitchedNetwork{}, nic(150, true)));
  CHECK(way(own, 0, 3) == "gpu0.nic.up gpu3.nic.down 2000");
}

TEST_CASE("topology: neighbouring devices that share a NIC leave the node over it") {
  NodeForm form =
      nodes_of(2, 4, inside(SwitchedNode{}), SwitchedNetwork{link_of(25, 7)}, NicSpec{link_of(10), true, 2});
  const Platform narrow = built(form);
  CHECK(narrow.links.size() == 2 * (8 + 4 + 2));
  CHECK(count_links(form) == narrow.links.size());
  CHECK(way(narrow, 0, 7) == "node0.nic0.up node0.port.up node1.port.down node1.nic1.down 14");
  CHECK(way(narrow, 6, 1) == "node1.nic1.up node1.port.up node0.port.down node0.nic0.down 14");
  CHECK(limit_of(narrow, "node0.port.up") == 20);  // two NICs, not four
  // A NIC of 150 is wider than a device's link of 100: one device uses no more of it than that.
  form = nodes_of(2, 4, inside(SwitchedNode{}), SwitchedNetwork{}, NicSpec{link_of(150), true, 2});
  CHECK(way(built(form), 0, 7) == "gpu0.up node0.nic0.up node1.nic1.down gpu7.down 2");
  CHECK(smallest_pair_bandwidth(built(form))->value() == 100);
}

TEST_CASE("topology: a NIC of several devices hangs on their PCIe switch, or on the sockets if it spans two") {
  const auto first_to_last = [&](std::uint32_t on_switch, std::uint32_t sharers) {
    return way(built(nodes_of(2, 6, pcie(on_switch, 0), {}, NicSpec{link_of(10), true, sharers})), 0, 11);
  };
  CHECK(first_to_last(2, 2) == "gpu0.up node0.nic0.up node1.nic2.down gpu11.down 2");
  CHECK(first_to_last(6, 3) == "gpu0.up node0.nic0.up node1.nic1.down gpu11.down 2");
  const std::string over_uplinks =
      "gpu0.up node0.switch0.up node0.nic0.up node1.nic1.down node1.switch1.down gpu11.down 22";
  CHECK(first_to_last(4, 3) == over_uplinks);  // gpu3 to gpu5 are on two switches
  CHECK(first_to_last(3, 3) == "gpu0.up node0.nic0.up node1.nic1.down gpu11.down 2");
}

TEST_CASE("topology: ring interconnect, the shorter way round") {
  const Platform platform = built(nodes_of(1, 6, inside(RingNode{})));
  CHECK(platform.links.size() == 12);
  CHECK(way(platform, 0, 2) == "gpu0->gpu1 gpu1->gpu2 2");
  CHECK(way(platform, 2, 0) == "gpu2->gpu1 gpu1->gpu0 2");
  CHECK(way(platform, 0, 5) == "gpu0->gpu5 1");
  CHECK(way(platform, 5, 1) == "gpu5->gpu0 gpu0->gpu1 2");
  CHECK(way(platform, 0, 3) == "gpu0->gpu1 gpu1->gpu2 gpu2->gpu3 3");  // equally long: increasing numbers
  CHECK(way(platform, 3, 0) == "gpu3->gpu4 gpu4->gpu5 gpu5->gpu0 3");
  const Platform pair = built(nodes_of(1, 2, inside(RingNode{})));
  CHECK(pair.links.size() == 2);
  CHECK(way(pair, 1, 0) == "gpu1->gpu0 1");
  CHECK(built(nodes_of(1, 1, inside(RingNode{}))).links.size() == 0);
}

TEST_CASE("topology: cube mesh, the sender's four first, then across") {
  const Platform platform = built(nodes_of(2, 8, inside(CubeMeshNode{{{0, 3}, {4, 0}}}), {}, nic(10)));
  CHECK(platform.nodes[NodeId(0)].nics.first == LinkId(32));
  CHECK(way(platform, 0, 3) == "gpu0->gpu3 1");
  CHECK(way(platform, 6, 5) == "gpu6->gpu5 1");
  CHECK(way(platform, 1, 5) == "gpu1->gpu5 1");
  CHECK(way(platform, 5, 1) == "gpu5->gpu1 1");
  CHECK(way(platform, 0, 6) == "gpu0->gpu2 gpu2->gpu6 2");
  CHECK(way(platform, 6, 0) == "gpu6->gpu4 gpu4->gpu0 2");
  CHECK(way(platform, 8, 15) == "gpu8->gpu11 gpu11->gpu15 2");
  CHECK(pair_bandwidth(platform, DeviceId(0), DeviceId(3)) == BytesPerSecond(200));
  CHECK(pair_bandwidth(platform, DeviceId(0), DeviceId(4)) == BytesPerSecond(200));
  CHECK(pair_bandwidth(platform, DeviceId(0), DeviceId(1)) == BytesPerSecond(100));
  CHECK(pair_bandwidth(platform, DeviceId(3), DeviceId(4)) == BytesPerSecond(200));  // over 0, both doubled
}

TEST_CASE("topology: PCIe tree, up only as far as needed") {
  // gpu0, gpu1 under switch 0; gpu2, gpu3 under switch 1; gpu4 under switch 2, which is the second socket's
  const Platform platform = built(nodes_of(1, 5, pcie(2, 2)));
  CHECK(platform.links.size() == 10 + 6 + 2);
  CHECK(way(platform, 0, 1) == "gpu0.up gpu1.down 2");
  CHECK(way(platform, 0, 3) == "gpu0.up node0.switch0.up node0.switch1.down gpu3.down 22");
  CHECK(way(platform, 0, 4) ==
        "gpu0.up node0.switch0.up node0.socket0->node0.socket1 node0.switch2.down gpu4.down 122");
  CHECK(way(platform, 4, 2) ==
        "gpu4.up node0.switch2.up node0.socket1->node0.socket0 node0.switch1.down gpu2.down 122");
  CHECK(smallest_pair_bandwidth(platform) == BytesPerSecond(60));
  CHECK(limit_of(platform, "node0.switch0.up") == 200);
  CHECK(limit_of(platform, "node0.switch2.down") == 100);  // a single device under it
  CHECK(limit_of(platform, "node0.socket0->node0.socket1") == kInfinite);
}

TEST_CASE("topology: host memory and a node's NIC hang on the PCIe tree, a device's NIC does not") {
  NodeForm form = nodes_of(2, 2, pcie(2, 0), {}, nic(10));
  form.node_kinds[NodeKindId(0)].host = {Bytes(500), std::nullopt, 1};
  const Platform platform = built(form);
  const PlaceId host = platform.place(HostId(0));
  CHECK(way(platform, platform.place(DeviceId(1)), host) == "gpu1.up node0.switch0.up 11");
  CHECK(way(platform, host, platform.place(DeviceId(1))) == "node0.switch0.down gpu1.down 11");
  CHECK(way(platform, host, platform.place(DeviceId(2))) == "-");
  CHECK(way(platform, 0, 3) ==
        "gpu0.up node0.switch0.up node0.nic.up node1.nic.down node1.switch0.down gpu3.down 2022");
  form.node_kinds[NodeKindId(0)].nic = nic(10, true);
  CHECK(way(built(form), 0, 3) == "gpu0.nic.up gpu3.nic.down 2000");
}

TEST_CASE("topology: a switch's ports, loaded by the NICs behind them") {
  const NodeForm form = nodes_of(2, 4, inside(SwitchedNode{}), SwitchedNetwork{link_of(25, 7)}, nic(10, true));
  const Platform platform = built(form);
  CHECK(way(platform, 1, 6) == "gpu1.nic.up node0.port.up node1.port.down gpu6.nic.down 2014");
  CHECK(limit_of(platform, "node0.port.up") == 40);
  CHECK(limit_of(platform, "gpu1.nic.up") == kInfinite);
}

TEST_CASE("topology: full network, a link for each pair of nodes") {
  const Platform platform = network_of(4, FullNetwork{link_of(30, 1)});
  CHECK(platform.links.size() == 8 + 12);
  CHECK(between_nics(platform, 1, 3) == "node1->node3 1");
  CHECK(between_nics(platform, 3, 1) == "node3->node1 1");
  CHECK(limit_of(platform, "node3->node1") == 10);  // what a NIC brings
  CHECK(smallest_pair_bandwidth(platform) == BytesPerSecond(10));
}

TEST_CASE("topology: ring and torus, dimension by dimension") {
  const Platform ring = network_of(5, TorusNetwork{{5}, link_of(30, 1)});
  CHECK(between_nics(ring, 4, 1) == "node4->node0 node0->node1 2");
  CHECK(between_nics(ring, 1, 4) == "node1->node0 node0->node4 2");
  // 3 x 2 x 4: node = x + 3 y + 6 z
  const Platform torus = network_of(24, TorusNetwork{{3, 2, 4}, link_of(30, 1)});
  CHECK(torus.links.size() == 48 + 2 * (24 + 12 + 24));
  CHECK(between_nics(torus, 0, 2) == "node0->node2 1");
  CHECK(between_nics(torus, 0, 23) == "node0->node2 node2->node5 node5->node23 3");
  CHECK(between_nics(torus, 23, 0) == "node23->node21 node21->node18 node18->node0 3");
  CHECK(between_nics(torus, 6, 18) == "node6->node12 node12->node18 2");  // half way round
  CHECK(between_nics(torus, 18, 6) == "node18->node0 node0->node6 2");
  CHECK(between_nics(torus, 4, 1) == "node4->node1 1");
}

TEST_CASE("topology: fat tree, up to the first common switch") {
  // 8 nodes under 4 leaves under 2 switches; leaves carry half of what their nodes bring
  const FatTreeNetwork tree{{{2, 2.0, 1, Seconds(1)}, {2, 1.0, 1, Seconds(10)}}, std::nullopt};
  const Platform platform = network_of(8, tree);
  CHECK(platform.links.size() == 16 + 8 + 4);
  CHECK(between_nics(platform, 0, 1) == "0");
  CHECK(between_nics(platform, 0, 2) == "switch1.0.up switch1.1.down 2");
  CHECK(between_nics(platform, 7, 0) == "switch1.3.up switch2.1.up switch2.0.down switch1.0.down 22");
  CHECK(pair_bandwidth(platform, DeviceId(0), DeviceId(2)) == BytesPerSecond(10));
  CHECK(limit_of(platform, "switch1.0.up") == 20);  // of a width of 10: this one may be the bottleneck
  CHECK(limit_of(platform, "switch2.0.up") == 20);  // of a width of 20: this one may not
  CHECK(platform.links[LinkId(24)].name == "switch2.0.up");
  CHECK(platform.links[LinkId(24)].bandwidth == BytesPerSecond(20));
}

TEST_CASE("topology: a fat tree whose last switches are not full keeps their width") {
  const Platform platform = network_of(5, FatTreeNetwork{{{4, 4.0, 1, Seconds(0)}}, link_of(8, 0)});
  CHECK(between_nics(platform, 0, 4) == "node0.port.up switch1.0.up switch1.1.down node4.port.down 0");
  CHECK(limit_of(platform, "node0.port.up") == 10);
  CHECK(limit_of(platform, "switch1.0.up") == 32);
  CHECK(limit_of(platform, "switch1.1.up") == 8);
  CHECK(pair_bandwidth(platform, DeviceId(0), DeviceId(4)) == BytesPerSecond(8));
  CHECK(network_of(4, FatTreeNetwork{{{4, 4.0, 1, Seconds(0)}}, std::nullopt}).links.size() == 8);  // one switch
}

TEST_CASE("topology: uplinks of a fat tree are picked by the pair of nodes and all used") {
  const FatTreeNetwork tree{{{16, 1.0, 4, Seconds(0)}}, std::nullopt};
  const Platform platform = network_of(32, tree);
  std::set<std::string> ways;
  for (std::uint32_t a = 0; a < 16; ++a) {
    for (std::uint32_t b = 16; b < 32; ++b) ways.insert(between_nics(platform, a, b));
  }
  CHECK(ways == std::set<std::string>{
                    "switch1.0.link0.up switch1.1.link0.down 0", "switch1.0.link1.up switch1.1.link1.down 0",
                    "switch1.0.link2.up switch1.1.link2.down 0", "switch1.0.link3.up switch1.1.link3.down 0"});
  CHECK(pair_bandwidth(platform, DeviceId(0), DeviceId(16)) == BytesPerSecond(10));
  CHECK(limit_of(platform, "switch1.0.link0.up") == 160);  // all pairs may fall to one
}

// Two nodes of four devices: NICs of 10, uplinks of 15, which two NICs of a rail can fill.
TEST_CASE("topology: rails, over the spine only from one rail to another") {
  const NicSpec each{link_of(10, 1), true};
  const Platform platform =
      test::built(nodes_of(2, 4, Interconnect{SwitchedNode{}, link_of(100)}, RailsNetwork{link_of(15, 2)}, each));
  CHECK(platform.links.size() == 16 + 16 + 8);
  CHECK(way(platform, 1, 5) == "gpu1.nic.up gpu5.nic.down 2");
  CHECK(way(platform, 1, 6) == "gpu1.nic.up rail1.up rail2.down gpu6.nic.down 6");
  CHECK(way(platform, 1, 2) == "gpu1.up gpu2.down 0");
  CHECK(limit_of(platform, "rail1.up") == 20);
  // With a NIC for two there are two rails.
  const NicSpec shared{link_of(10, 1), true, 2};
  const Platform two = test::built(nodes_of(2, 4, std::nullopt, RailsNetwork{link_of(5, 2)}, shared));
  CHECK(way(two, 0, 5) == "node0.nic0.up node1.nic0.down 2");
  CHECK(way(two, 0, 6) == "node0.nic0.up rail0.up rail1.down node1.nic1.down 6");
  CHECK(pair_bandwidth(two, DeviceId(0), DeviceId(6)) == BytesPerSecond(5));
}

TEST_CASE("topology: dragonfly, local, global, local") {
  // 3 groups of 2 routers of 2 nodes. Global links of a group fall to its routers in turn: group 0 reaches 1 from
  // router 0 and 2 from router 1; group 1 reaches 0 from router 2, 2 from router 3; group 2 reaches 0 from 4, 1 from 5.
  const DragonflyNetwork dragonfly{2, 2, link_of(30, 1), link_of(20, 100)};
  const Platform platform = network_of(12, dragonfly);
  CHECK(platform.links.size() == 24 + 6 + 6);
  CHECK(between_nics(platform, 0, 1) == "0");
  CHECK(between_nics(platform, 0, 2) == "router0->router1 1");
  CHECK(between_nics(platform, 0, 4) == "group0->group1 100");
  CHECK(between_nics(platform, 2, 7) == "router1->router0 group0->group1 router2->router3 102");
  CHECK(between_nics(platform, 7, 2) == "router3->router2 group1->group0 router0->router1 102");
  CHECK(between_nics(platform, 6, 10) == "group1->group2 100");
  CHECK(between_nics(platform, 4, 9) == "router2->router3 group1->group2 router5->router4 102");
  CHECK(limit_of(platform, "group0->group1") == 40);
  CHECK(smallest_pair_bandwidth(platform) == BytesPerSecond(10));
}

TEST_CASE("topology: the last group of a dragonfly has the routers that its nodes need, and no others") {
  // 5 nodes, one to a router, two routers to a group: router 4 is alone in group 2, so both global links end there.
  const Platform platform = network_of(5, DragonflyNetwork{2, 1, link_of(30, 1), link_of(20, 100)});
  CHECK(platform.links.size() == 10 + 4 + 6);
  CHECK(between_nics(platform, 2, 4) == "router2->router3 group1->group2 101");
  CHECK(between_nics(platform, 3, 4) == "group1->group2 100");
  CHECK(between_nics(platform, 4, 0) == "group2->group0 router1->router0 101");
  CHECK(between_nics(platform, 4, 1) == "group2->group0 100");
}

namespace {

std::optional<BytesPerSecond> smallest_of_all_pairs(const Platform& platform) {
  std::optional<BytesPerSecond> smallest;
  for (DeviceId a : indices(platform.devices)) {
    for (DeviceId b : indices(platform.devices)) {
      if (a == b) continue;
      const std::optional<BytesPerSecond> bandwidth = pair_bandwidth(platform, a, b);
      REQUIRE(bandwidth);
      smallest = smallest ? std::min(*smallest, *bandwidth) : *bandwidth;
    }
  }
  return smallest;
}

void check_routes(const Platform& platform) {
  for (DeviceId a : indices(platform.devices)) {
    for (DeviceId b : indices(platform.devices)) {
      Route there;
      REQUIRE(find_route(platform, platform.place(a), platform.place(b), there));
      const std::set<LinkId> crossed(there.links.begin(), there.links.end());
      CHECK((crossed.size() == there.links.size() && crossed.empty() == (a == b)));  // no link twice
    }
  }
}

}  // namespace

TEST_CASE("topology: counted links, routes and the smallest pair of 150 random clusters, seed 5") {
  RandomClusters clusters(5);
  for (int i = 0; i < 150; ++i) {
    CAPTURE(i);
    const NodeForm form = clusters.next();
    const Platform platform = built(form);
    CHECK(count_links(form) == platform.links.size());
    CHECK(smallest_pair_bandwidth(platform) == smallest_of_all_pairs(platform));
    check_routes(platform);
    std::set<std::string> names;
    for (const Link& link : platform.links) names.insert(link.name);
    CHECK(names.size() == platform.links.size());
  }
}
