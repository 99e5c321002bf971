#include "sim/model/platform.hpp"

#include "sim/base/error.hpp"
#include "tests/model/topologies.hpp"

#include <doctest/doctest.h>

using namespace stagecraft;
using test::way;

namespace {

LinkSpec link(double bandwidth, double latency = 0.0, Duplex duplex = Duplex::Full) {
  return {BytesPerSecond(bandwidth), Seconds(latency), duplex, Sharing::Fair};
}
NodeKind node_kind(std::uint32_t devices, double inside, double outside) {
  NodeKind kind;
  kind.name = "node";
  kind.device_kind = DeviceKindId(0);
  kind.device_count = devices;
  if (inside > 0) kind.interconnect = {SwitchedNode{}, link(inside, 1)};
  if (outside > 0) kind.nic = {link(outside, 10), false};
  return kind;
}
Platform cluster(const std::vector<NodeKind>& kinds, const std::vector<std::uint32_t>& counts) {
  PlatformSpec spec;
  spec.device_kinds.push_back({"A", Bytes(100), 1.0, Bytes(30), std::nullopt});
  spec.device_kinds.push_back({"B", Bytes(100), 2.0, Bytes(0), std::nullopt});
  spec.device_kinds.push_back({"C", Bytes(100), std::nullopt, Bytes(0), std::nullopt});
  NodeForm form;
  for (std::uint32_t i = 0; i < kinds.size(); ++i) {
    form.node_kinds.push_back(kinds[i]);
    form.groups.push_back({NodeKindId(i), counts[i]});
  }
  spec.form = form;
  return build_platform(spec);
}
ExplicitForm three_devices() {
  ExplicitForm form;
  for (const char* name : {"a", "b", "c"}) form.devices.push_back({name, DeviceKindId(0), {}});
  return form;
}
Platform explicit_platform(const ExplicitForm& form) {
  PlatformSpec spec;
  spec.device_kinds.push_back({"A", Bytes(100), 1.0, Bytes(0), std::nullopt});
  spec.form = form;
  return build_platform(spec);
}

}  // namespace

TEST_CASE("platform: nodes of a cluster, device by device") {
  const Platform platform = cluster({node_kind(2, 100, 10)}, {2});
  CHECK(platform.devices.size() == 4);
  CHECK(platform.devices[DeviceId(3)].name == "gpu3");
  CHECK(platform.devices[DeviceId(3)].node == NodeId(1));
  CHECK(platform.capacity(DeviceId(0)) == Bytes(70));
  CHECK(way(platform, 0, 1) == "gpu0.up gpu1.down 2");
  CHECK(way(platform, 1, 0) == "gpu1.up gpu0.down 2");
  CHECK(way(platform, 0, 3) == "node0.nic.up node1.nic.down 20");
  CHECK(way(platform, 3, 1) == "node1.nic.up node0.nic.down 20");
  CHECK(way(platform, 2, 2) == "0");
  CHECK(pair_bandwidth(platform, DeviceId(0), DeviceId(1)) == BytesPerSecond(100));
  CHECK(pair_bandwidth(platform, DeviceId(0), DeviceId(2)) == BytesPerSecond(10));
  CHECK_FALSE(pair_bandwidth(platform, DeviceId(0), DeviceId(0)));
  CHECK(smallest_pair_bandwidth(platform) == BytesPerSecond(10));
}

TEST_CASE("platform: half duplex is one link for both directions") {
  NodeKind kind = node_kind(2, 100, 10);
  kind.interconnect->link.duplex = Duplex::Half;
  kind.nic->link.duplex = Duplex::Half;
  const Platform platform = cluster({kind}, {2});
  CHECK(way(platform, 0, 1) == "gpu0.link gpu1.link 2");
  CHECK(way(platform, 1, 0) == "gpu1.link gpu0.link 2");
  CHECK(way(platform, 2, 1) == "node1.nic node0.nic 20");
}

TEST_CASE("platform: a NIC for each device") {
  NodeKind kind = node_kind(2, 0, 10);
  kind.nic->per_device = true;
  const Platform platform = cluster({kind}, {2});
  CHECK(way(platform, 1, 2) == "gpu1.nic.up gpu2.nic.down 20");
  CHECK(way(platform, 0, 1) == "-");  // no interconnect inside the node
  CHECK_FALSE(smallest_pair_bandwidth(platform));
  CHECK_THROWS_AS(static_cast<void>(levels(platform)), InputError);
}

TEST_CASE("platform: a host link may be shared, and hosts are reached by their own devices only") {
  NodeKind kind = node_kind(3, 100, 10);
  kind.host = {Bytes(500), link(5, 3), 2};
  const Platform platform = cluster({kind}, {2});
  const auto host = [&](std::uint32_t i) { return platform.place(HostId(i)); };
  const auto device = [&](std::uint32_t i) { return platform.place(DeviceId(i)); };
  CHECK(platform.hosts.size() == 2);
  CHECK(platform.place_name(host(1)) == "host1");
  CHECK_FALSE(platform.is_device(host(0)));
  CHECK(way(platform, device(0), host(0)) == "host0.link0.up 3");
  CHECK(way(platform, device(1), host(0)) == "host0.link0.up 3");  // shared by two
  CHECK(way(platform, device(2), host(0)) == "host0.link1.up 3");
  CHECK(way(platform, host(1), device(4)) == "host1.link0.down 3");
  CHECK(way(platform, device(0), host(1)) == "-");
  CHECK(way(platform, host(0), host(1)) == "-");
  kind.host->link->duplex = Duplex::Half;
  const Platform half = cluster({kind}, {1});
  CHECK(way(half, device(2), half.place(HostId(0))) == "host0.link1 3");
  CHECK(way(half, half.place(HostId(0)), device(2)) == "host0.link1 3");
}

TEST_CASE("platform: levels, innermost first, without those of one member") {
  using Levels = std::vector<Level>;
  CHECK(levels(cluster({node_kind(4, 100, 10)}, {3})) == Levels{{4, BytesPerSecond(100)}, {3, BytesPerSecond(10)}});
  CHECK(levels(cluster({node_kind(4, 100, 10)}, {1})) == Levels{{4, BytesPerSecond(100)}});
  CHECK(levels(cluster({node_kind(1, 100, 10)}, {3})) == Levels{{3, BytesPerSecond(10)}});
  CHECK(levels(cluster({node_kind(1, 100, 10)}, {1})).empty());
  // Two kinds of nodes are one level at the smallest pair bandwidth.
  CHECK(levels(cluster({node_kind(4, 100, 10), node_kind(2, 7, 20)}, {1, 1})) == Levels{{6, BytesPerSecond(7)}});
  ExplicitForm form = three_devices();
  form.default_link = link(9);
  form.links.push_back({"", std::pair{DeviceId(0), DeviceId(1)}, link(4)});
  CHECK(levels(explicit_platform(form)) == Levels{{3, BytesPerSecond(4)}});
}

TEST_CASE("platform: explicit links, named links of several pairs, and the default for the rest") {
  ExplicitForm form = three_devices();
  form.links.push_back({"", std::pair{DeviceId(1), DeviceId(0)}, link(4, 1)});
  form.links.push_back({"pcie", std::nullopt, link(6, 2)});
  form.routes.push_back({DeviceId(0), DeviceId(2), {1}});
  CHECK(way(explicit_platform(form), 0, 1) == "a->b 1");
  CHECK(way(explicit_platform(form), 1, 0) == "b->a 1");
  CHECK(way(explicit_platform(form), 0, 2) == "pcie.forward 2");
  CHECK(way(explicit_platform(form), 2, 0) == "pcie.reverse 2");
  CHECK(way(explicit_platform(form), 1, 2) == "-");
  form.default_link = link(1, 5, Duplex::Half);
  CHECK(way(explicit_platform(form), 1, 2) == "b<->c 5");
  CHECK(way(explicit_platform(form), 2, 1) == "b<->c 5");
  CHECK(explicit_platform(form).links.size() == 5);  // no default where there is a link or a route
}

TEST_CASE("platform: a route crosses each link in the direction in which it passes its devices") {
  ExplicitForm form = three_devices();
  form.links.push_back({"", std::pair{DeviceId(1), DeviceId(0)}, link(4, 1)});  // listed against the route
  form.links.push_back({"", std::pair{DeviceId(1), DeviceId(2)}, link(3, 2)});
  form.links.push_back({"hub", std::nullopt, link(8, 4)});
  form.routes.push_back({DeviceId(0), DeviceId(2), {0, 1}});
  const Platform platform = explicit_platform(form);
  CHECK(way(platform, 0, 2) == "a->b b->c 3");
  CHECK(way(platform, 2, 0) == "c->b b->a 3");
  CHECK(pair_bandwidth(platform, DeviceId(2), DeviceId(0)) == BytesPerSecond(3));
  form.routes[0] = {DeviceId(2), DeviceId(0), {2, 0}};  // the hub first, then the link that ends at a
  CHECK(way(explicit_platform(form), 2, 0) == "hub.forward b->a 5");
  CHECK(way(explicit_platform(form), 0, 2) == "a->b hub.reverse 5");
}

// a and b on switch s, c on switch t; s and t are linked. Links 0 to 2 are those of the devices.
TEST_CASE("platform: the shortest way over switches connects devices") {
  ExplicitForm form = three_devices();
  form.switches = {"s", "t"};
  const SwitchId s(0);
  const SwitchId t(1);
  form.links.push_back({"", std::pair<ExplicitEnd, ExplicitEnd>{DeviceId(0), s}, link(4, 1)});
  form.links.push_back({"", std::pair<ExplicitEnd, ExplicitEnd>{s, DeviceId(1)}, link(5, 10)});
  form.links.push_back({"c-t", std::pair<ExplicitEnd, ExplicitEnd>{DeviceId(2), t}, link(6, 100)});
  CHECK(way(explicit_platform(form), 0, 1) == "a->s s->b 11");
  CHECK(way(explicit_platform(form), 1, 0) == "b->s s->a 11");
  CHECK(way(explicit_platform(form), 0, 2) == "-");
  form.links.push_back({"up", std::pair<ExplicitEnd, ExplicitEnd>{t, s}, link(3, 1000, Duplex::Half)});
  CHECK(way(explicit_platform(form), 0, 2) == "a->s up c-t.reverse 1101");
  CHECK(way(explicit_platform(form), 2, 1) == "c-t.forward up s->b 1110");
  CHECK(explicit_platform(form).links.size() == 7);
  CHECK(pair_bandwidth(explicit_platform(form), DeviceId(2), DeviceId(1)) == BytesPerSecond(3));
  // A second switch between s and t is a longer way; c reached from s directly is a shorter one.
  form.switches.push_back("u");
  const SwitchId u(2);
  form.links.push_back({"", std::pair<ExplicitEnd, ExplicitEnd>{s, u}, link(9)});
  form.links.push_back({"", std::pair<ExplicitEnd, ExplicitEnd>{u, t}, link(9)});
  CHECK(way(explicit_platform(form), 0, 2) == "a->s up c-t.reverse 1101");
  // From s over u to c is as long as over t: the link listed first decides.
  form.links.push_back({"", std::pair<ExplicitEnd, ExplicitEnd>{u, DeviceId(2)}, link(9)});
  CHECK(way(explicit_platform(form), 0, 2) == "a->s up c-t.reverse 1101");
  // Given routes and links come first; no way leads over a device.
  form.routes.push_back({DeviceId(0), DeviceId(2), {0, 4, 5, 2}});
  CHECK(way(explicit_platform(form), 0, 2) == "a->s s->u u->t c-t.reverse 101");
  CHECK(way(explicit_platform(form), 2, 0) == "c-t.forward t->u u->s s->a 101");
  form.links[1].between = std::pair(DeviceId(0), DeviceId(1));
  CHECK(way(explicit_platform(form), 0, 1) == "a->b 10");
  CHECK(way(explicit_platform(form), 1, 2) == "-");
  form.default_link = link(1, 7);
  CHECK(way(explicit_platform(form), 1, 2) == "b->c 7");
}

TEST_CASE("platform: hosts of explicit devices are their own") {
  ExplicitForm form = three_devices();
  form.devices[DeviceId(1)].host = {Bytes(50), link(2, 7), 1};
  const Platform platform = explicit_platform(form);
  CHECK(platform.hosts.size() == 1);
  CHECK(way(platform, platform.place(DeviceId(1)), platform.place(HostId(0))) == "b.host.up 7");
  CHECK(way(platform, platform.place(HostId(0)), platform.place(DeviceId(1))) == "b.host.down 7");
  CHECK(platform.devices[DeviceId(0)].host.is_none());
  CHECK(way(platform, platform.place(DeviceId(0)), platform.place(HostId(0))) == "-");
}

TEST_CASE("platform: a device's time factor compares its speed with that of the profile's device") {
  std::vector<NodeKind> kinds(3, node_kind(1, 100, 10));
  for (std::uint32_t i = 0; i < 3; ++i) kinds[i].device_kind = DeviceKindId(i);
  Platform platform = cluster(kinds, {1, 1, 1});
  CHECK(time_factor(platform, "A", DeviceId(0)) == 1.0);
  CHECK(time_factor(platform, "A", DeviceId(1)) == 0.5);
  CHECK(time_factor(platform, "B", DeviceId(0)) == 2.0);
  CHECK(time_factor(platform, "C", DeviceId(2)) == 1.0);  // the same kind needs no speed
  CHECK_FALSE(time_factor(platform, "C", DeviceId(0)));
  CHECK_FALSE(time_factor(platform, "unheard-of", DeviceId(0)));
  CHECK_THROWS_AS(static_cast<void>(require_time_factor(platform, "C", DeviceId(0))), InputError);
  platform.spec.speeds = {{"unheard-of", 3.0}, {"A", 6.0}};  // the user's figures come first
  CHECK(require_time_factor(platform, "unheard-of", DeviceId(0)) == 0.5);
  platform.devices[DeviceId(0)].slowdown = 3.0;
  platform.devices[DeviceId(2)].slowdown = 1.5;
  CHECK(require_time_factor(platform, "unheard-of", DeviceId(0)) == 1.5);
  CHECK(require_time_factor(platform, "C", DeviceId(2)) == 1.5);
}
