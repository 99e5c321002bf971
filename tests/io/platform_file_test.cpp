#include "sim/io/platform_file.hpp"

#include "sim/model/bandwidths.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <variant>

using namespace stagecraft;

namespace {

constexpr const char* kNodes = R"(
schema: stagecraft/platform/1
platform: p3.16xlarge-x2
device_kinds:
  V100-SXM2-16GB: {memory: 16 GiB, speed: 1.0, reserved: 1 GiB, update_bandwidth: 900 GBps,
                   pass_overhead: 30 us, update_overhead: 150 ms, price: 3.06}
  slow: {memory: 8 GiB}
node_kinds:
  p3.16xlarge:
    devices: {kind: V100-SXM2-16GB, count: 8}
    interconnect: {type: switch, bandwidth: 25 GBps, latency: 2 us, duplex: full}
    host: {memory: 488 GiB, link: {bandwidth: 12 GBps, latency: 5 us, duplex: half, shared_by: 2}}
    nic: {bandwidth: 25 Gbps, latency: 10 us, per: device, sharing: exclusive}
  small:
    devices: {kind: slow, count: 1}
nodes: [{kind: p3.16xlarge, count: 2}, {kind: small, count: 3}]
network: {type: switch}
)";

constexpr const char* kExplicit = R"(
schema: stagecraft/platform/1
platform: triangle
device_kinds: {A: {memory: 1 GiB, price: 0}}
devices:
  - {name: gpu0, kind: A, host: {memory: 64 GiB, link: {bandwidth: 12 GBps, latency: 5 us}}}
  - {name: gpu1, kind: A}
  - {name: gpu2, kind: A}
  - {name: gpu3, kind: A}
links:
  - {between: [gpu0, gpu1], bandwidth: 10 GBps, latency: 1 us}
  - {name: pcie0, bandwidth: 12 GBps, latency: 2 us}
  - {name: pcie1, bandwidth: 6 GBps, latency: 0}
routes:
  - {between: [gpu0, gpu2], links: [pcie0]}
  - {between: [gpu1, gpu2], links: [pcie0, pcie1]}
default_link: {bandwidth: 1 GBps, latency: 5 us, duplex: half}
)";

}  // namespace

TEST_CASE("platform file: devices that share a NIC") {
  const auto nic = [](const std::string& users) {
    const PlatformSpec spec = parse_platform(
        "{schema: stagecraft/platform/1, platform: p, device_kinds: {A: {memory: 1 GiB}}, node_kinds: {n: {devices: "
        "{kind: A, count: 8}, nic: {bandwidth: 1 GBps, latency: 0 s" +
            users + "}}}, nodes: {kind: n, count: 2}}",
        "p.yaml");
    CHECK(parse_platform(write_platform(spec), "written") == spec);
    const NicSpec read = *std::get<NodeForm>(spec.form).node_kinds[NodeKindId(0)].nic;
    return std::pair(read.per_device, read.shared_by);
  };
  CHECK(nic("") == std::pair(false, 1U));
  CHECK(nic(", shared_by: 1") == nic(", per: device"));
  CHECK(nic(", shared_by: 2") == std::pair(true, 2U));
  CHECK(nic(", shared_by: 8") == std::pair(true, 8U));
}

TEST_CASE("platform file: the node form") {
  const PlatformSpec spec = parse_platform(kNodes, "p.yaml");
  CHECK(spec.name == "p3.16xlarge-x2");
  REQUIRE(spec.device_kinds.size() == 2);
  const DeviceKind& kind = spec.device_kinds[DeviceKindId(0)];
  CHECK(kind.memory == Bytes(17179869184));
  CHECK(kind.reserved == Bytes(1073741824));
  CHECK(kind.speed == 1.0);
  CHECK(kind.update_bandwidth == BytesPerSecond(900e9));
  CHECK(kind.pass_overhead == Seconds(30e-6));
  CHECK(kind.update_overhead == Seconds(0.15));
  CHECK(kind.price == 3.06);
  CHECK_FALSE(spec.device_kinds[DeviceKindId(1)].price.has_value());
  CHECK(spec.device_kinds[DeviceKindId(1)].pass_overhead == Seconds(0));
  CHECK_FALSE(spec.device_kinds[DeviceKindId(1)].speed.has_value());
  const NodeForm& form = std::get<NodeForm>(spec.form);
  const NodeKind& node = form.node_kinds[NodeKindId(0)];
  CHECK(node.device_count == 8);
  CHECK(node.interconnect->link.bandwidth == BytesPerSecond(25e9));
  CHECK(node.interconnect->link.latency == Seconds(2e-6));
  CHECK(node.host->shared_by == 2);
  CHECK(node.host->link->duplex == Duplex::Half);
  CHECK(node.nic->per_device);
  CHECK(node.nic->link.bandwidth == BytesPerSecond(3.125e9));
  CHECK(node.nic->link.sharing == Sharing::Exclusive);
  CHECK_FALSE(form.node_kinds[NodeKindId(1)].nic.has_value());
  REQUIRE(form.groups.size() == 2);
  CHECK(form.groups[1] == NodeGroup{NodeKindId(1), 3});
  const Platform platform = build_platform(spec);
  CHECK(platform.devices.size() == 19);
  CHECK(platform.devices[DeviceId(18)].name == "gpu18");
}

namespace {

/// A cluster of 8 nodes of 8 devices with this interconnect and network.
NodeForm cluster(const std::string& interconnect, const std::string& network) {
  const std::string text =
      "schema: stagecraft/platform/1\nplatform: p\ndevice_kinds: {A: {memory: 1 GiB}}\n"
      "node_kinds: {n: {devices: {kind: A, count: 8}, interconnect: " +
      interconnect + ", host: {memory: 1 GiB" +
      (interconnect.find("pcie") != std::string::npos ? "" : ", link: {bandwidth: 1 GBps, latency: 0}") +
      "}, nic: {bandwidth: 1 GBps, latency: 1 s}}}\nnodes: {kind: n, count: 8}\nnetwork: " + network + "\n";
  const PlatformSpec spec = parse_platform(text, "p.yaml");
  CHECK(parse_platform(write_platform(spec), "again") == spec);
  return std::get<NodeForm>(spec.form);
}

Interconnect interconnect(const std::string& text) {
  return *cluster(text, "{type: switch}").node_kinds[NodeKindId(0)].interconnect;
}

Network network(const std::string& text) {
  return cluster("{type: switch, bandwidth: 1 GBps, latency: 0}", text).network;
}

LinkSpec link_of(double gigabytes, double latency, Duplex duplex = Duplex::Full, Sharing sharing = Sharing::Fair) {
  return {BytesPerSecond(gigabytes * 1e9), Seconds(latency), duplex, sharing};
}

}  // namespace

TEST_CASE("platform file: every type of interconnect") {
  CHECK(interconnect("{type: switch, bandwidth: 2 GBps, latency: 1 s}") == Interconnect{SwitchedNode{}, link_of(2, 1)});
  CHECK(interconnect("{type: full, bandwidth: 2 GBps, latency: 1 s, sharing: exclusive}") ==
        Interconnect{FullNode{}, link_of(2, 1, Duplex::Full, Sharing::Exclusive)});
  CHECK(interconnect("{type: ring, bandwidth: 2 GBps, latency: 1 s, duplex: half}") ==
        Interconnect{RingNode{}, link_of(2, 1, Duplex::Half)});
  CHECK(interconnect("{type: cube-mesh, bandwidth: 2 GBps, latency: 1 s}") ==
        Interconnect{CubeMeshNode{}, link_of(2, 1)});
  CHECK(interconnect("{type: cube-mesh, bandwidth: 2 GBps, latency: 1 s, doubled: [[0, 3], [7, 3]]}") ==
        Interconnect{CubeMeshNode{{{0, 3}, {7, 3}}}, link_of(2, 1)});
  CHECK(interconnect("{type: pcie, bandwidth: 2 GBps, latency: 1 s, devices_per_switch: 4}") ==
        Interconnect{PcieNode{4, link_of(2, 1), 0, {}}, link_of(2, 1)});  // uplinks like the device links
  CHECK(interconnect("{type: pcie, bandwidth: 2 GBps, latency: 1 s, devices_per_switch: 2, switches_per_socket: 3, "
                     "uplink: {bandwidth: 3 GBps, latency: 2 s}, socket_link: {bandwidth: 4 GBps, latency: 3 s}}") ==
        Interconnect{PcieNode{2, link_of(3, 2), 3, link_of(4, 3)}, link_of(2, 1)});
  // no second socket under 8 devices: its link may be given, and may be left out
  CHECK(interconnect("{type: pcie, bandwidth: 2 GBps, latency: 1 s, devices_per_switch: 2, switches_per_socket: 4}") ==
        Interconnect{PcieNode{2, link_of(2, 1), 4, {}}, link_of(2, 1)});
}

TEST_CASE("platform file: swapped tensors take the PCIe tree where the host has no link") {
  const NodeForm form =
      cluster("{type: pcie, bandwidth: 2 GBps, latency: 1 s, devices_per_switch: 4}", "{type: switch}");
  CHECK(form.node_kinds[NodeKindId(0)].host == HostSpec{Bytes(1073741824), std::nullopt, 1});
}

TEST_CASE("platform file: every type of network") {
  CHECK(network("{type: switch}") == Network(SwitchedNetwork{}));
  CHECK(network("{type: switch, bandwidth: 2 GBps, latency: 1 s}") == Network(SwitchedNetwork{link_of(2, 1)}));
  CHECK(network("{type: full, bandwidth: 2 GBps, latency: 1 s}") == Network(FullNetwork{link_of(2, 1)}));
  CHECK(network("{type: ring, bandwidth: 2 GBps, latency: 1 s}") == Network(TorusNetwork{{8}, link_of(2, 1)}));
  CHECK(network("{type: torus, sizes: [8], bandwidth: 2 GBps, latency: 1 s}") ==
        Network(TorusNetwork{{8}, link_of(2, 1)}));
  CHECK(network("{type: torus, sizes: [2, 1, 4], bandwidth: 2 GBps, latency: 1 s}") ==
        Network(TorusNetwork{{2, 1, 4}, link_of(2, 1)}));
  CHECK(network("{type: fat-tree, levels: [{children: 4}]}") ==
        Network(FatTreeNetwork{{{4, 1.0, 1, Seconds(0)}}, std::nullopt}));
  CHECK(network("{type: fat-tree, bandwidth: 2 GBps, latency: 1 s, levels: "
                "[{children: 4, oversubscription: 0.5, uplinks: 3, latency: 2 s}, {children: 2}]}") ==
        Network(FatTreeNetwork{{{4, 0.5, 3, Seconds(2)}, {2, 1.0, 1, Seconds(0)}}, link_of(2, 1)}));
  CHECK(network("{type: dragonfly, routers_per_group: 2, nodes_per_router: 3, bandwidth: 2 GBps, latency: 1 s, "
                "duplex: half, global_bandwidth: 4 GBps, global_latency: 5 s}") ==
        Network(DragonflyNetwork{2, 3, link_of(2, 1, Duplex::Half), link_of(4, 5, Duplex::Half)}));
}

TEST_CASE("platform file: the explicit form") {
  const PlatformSpec spec = parse_platform(kExplicit, "p.yaml");
  const ExplicitForm& form = std::get<ExplicitForm>(spec.form);
  REQUIRE(form.devices.size() == 4);
  CHECK(form.devices[DeviceId(0)].host->memory == Bytes(68719476736));
  REQUIRE(form.links.size() == 3);
  REQUIRE(form.links[0].between);
  CHECK(form.links[0].between->first == ExplicitEnd(DeviceId(0)));
  CHECK(form.links[0].between->second == ExplicitEnd(DeviceId(1)));
  CHECK(form.links[1].name == "pcie0");
  REQUIRE(form.routes.size() == 2);
  CHECK(form.routes[1].links == std::vector<std::size_t>{1, 2});
  CHECK(form.default_link->duplex == Duplex::Half);
  const Platform platform = build_platform(spec);
  CHECK(pair_bandwidth(platform, DeviceId(1), DeviceId(2)) == BytesPerSecond(6e9));
  CHECK(pair_bandwidth(platform, DeviceId(3), DeviceId(2)) == BytesPerSecond(1e9));
}

TEST_CASE("platform file: links that end at switches") {
  const PlatformSpec spec = parse_platform(
      "{schema: stagecraft/platform/1, platform: p, device_kinds: {A: {memory: 1 GiB}}, devices: [{name: a, kind: A}, "
      "{name: b, kind: A}], switches: [s, t], links: [{between: [a, s], bandwidth: 2 GBps, latency: 1 s}, {name: up, "
      "between: [t, s], bandwidth: 3 GBps, latency: 1 s}, {between: [b, t], bandwidth: 4 GBps, latency: 1 s}]}",
      "p.yaml");
  CHECK(parse_platform(write_platform(spec), "written") == spec);
  const ExplicitForm& form = std::get<ExplicitForm>(spec.form);
  CHECK(form.devices.size() == 2);
  REQUIRE(form.switches.size() == 2);
  CHECK(form.switches[SwitchId(1)] == "t");
  CHECK(form.links[1].between->first == ExplicitEnd(SwitchId(1)));
  CHECK(pair_bandwidth(build_platform(spec), DeviceId(1), DeviceId(0)) == BytesPerSecond(2e9));
}

TEST_CASE("platform file: collectives") {
  using Algorithm = CollectiveSpec::Algorithm;
  const auto read = [](const std::string& collectives) {
    return parse_platform(
               "schema: stagecraft/platform/1\nplatform: p\ndevice_kinds: {A: {memory: 1 GiB}}\n"
               "devices: [{name: gpu0, kind: A}]\n" +
                   collectives,
               "p.yaml")
        .collectives;
  };
  CHECK(read("") == CollectiveSpec{});
  CHECK(read("collectives: {algorithm: hierarchical, efficiency: 0.75, rings: 2}") ==
        CollectiveSpec{.algorithm = Algorithm::Hierarchical, .efficiency = 0.75, .rings = 2});
  CHECK(read("collectives: {efficiency: {node: 0.95, network: 0.38}, latency: 72 us}") ==
        CollectiveSpec{.efficiency = 0.95, .network_efficiency = 0.38, .latency = Seconds(72e-6)});
  CHECK(read("collectives: {overlap: 0.7}") == CollectiveSpec{.overlap = 0.7});
  CHECK(read("collectives: {efficiency: {network: 0.5}}") ==
        CollectiveSpec{.efficiency = 1.0, .network_efficiency = 0.5});
  CHECK(read("collectives: {table: [[0, 1 GBps], [1 MiB, 40 Gbps]], overlap: 0.5}") ==
        CollectiveSpec{.table = {{Bytes(0), BytesPerSecond(1e9)}, {Bytes(1048576), BytesPerSecond(5e9)}},
                       .overlap = 0.5});
}

TEST_CASE("platform file: what is written reads back to an equal value") {
  for (const char* text : {kNodes, kExplicit}) {
    const PlatformSpec spec = parse_platform(text, "p.yaml");
    const std::string written = write_platform(spec);
    CAPTURE(written);
    CHECK(parse_platform(written, "again") == spec);
  }
}

TEST_CASE("platform file: a hundred thousand devices are read, one more is refused") {
  const std::string start = R"(
schema: stagecraft/platform/1
platform: large
device_kinds: {A: {memory: 1 GiB}}
node_kinds: {n: {devices: {kind: A, count: 8}}}
nodes: {kind: n, count: )";
  CHECK(std::get<NodeForm>(parse_platform(start + "12500}", "p.yaml").form).groups[0].count == 12500);
  CHECK_THROWS_WITH(
      static_cast<void>(parse_platform(start + "12501}", "p.yaml")),
      "p.yaml:6:8: nodes: expected at most 100000 devices in all, found more (describe a part of the cluster)");
}
