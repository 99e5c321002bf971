#include "sim/schedule/all_reduce.hpp"

#include "tests/model/topologies.hpp"
#include "tests/schedule/all_reduce_runs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft::all_reduce_test {
namespace {

using Algorithm = CollectiveSpec::Algorithm;

/// Nodes behind a switch of 8 GB/s inside, and NICs of 1 GB/s: one for each device, or one for the node.
Platform cluster(std::uint32_t nodes, std::uint32_t devices, CollectiveSpec collectives = {}, bool card_each = true,
                 double latency = 0.0) {
  const Interconnect inside{SwitchedNode{}, test::link_of(8e9, latency)};
  PlatformSpec spec = test::built(test::nodes_of(nodes, devices, inside, SwitchedNetwork{},
                                                 NicSpec{test::link_of(1e9, latency), card_each}))
                          .spec;
  spec.collectives = std::move(collectives);
  return build_platform(std::move(spec));
}

/// How many flows leave each device for another node.
std::map<DeviceId, int> departures(const Platform& platform, const AllReduce& all_reduce) {
  std::map<DeviceId, int> counts;
  for (const AllReducePhase& phase : all_reduce.phases) {
    for (const AllReduceFlow& flow : phase.flows) {
      if (platform.devices[flow.from].node != platform.devices[flow.to].node) ++counts[flow.from];
    }
  }
  return counts;
}

TEST_CASE("all-reduce: as many rings as cards, and each leaves a node over a card of its own") {
  const Platform platform = cluster(3, 4, {.algorithm = Algorithm::Ring});
  const AllReduce rings = all_reduce(platform, devices_of(platform), Bytes(1));
  REQUIRE(rings.phases.size() == 1);
  CHECK(rings.phases[0].steps == 22);
  CHECK(rings.phases[0].flows.size() == 4 * 12);
  const std::map<DeviceId, int> leaving = departures(platform, rings);
  CHECK(leaving.size() == 12);
  for (const auto& [device, count] : leaving) CHECK(count == 1);
  for (const AllReduceFlow& flow : rings.phases[0].flows) CHECK(flow.part * 48 == flow.of * 22);
  // One card for the node, or one ring wanted: today's ring.
  const Platform narrow = cluster(3, 4, {}, false);
  CHECK(all_reduce(narrow, devices_of(narrow), Bytes(1)).phases[0].flows.size() == 12);
  const Platform single = cluster(3, 4, {.algorithm = Algorithm::Ring, .rings = 1});
  CHECK(departures(single, all_reduce(single, devices_of(single), Bytes(1))).size() == 3);
}

Platform with_shared_nics(std::uint32_t nodes, std::uint32_t devices, std::uint32_t shared_by,
                          CollectiveSpec collectives) {
  PlatformSpec spec = cluster(nodes, devices, std::move(collectives)).spec;
  std::get<NodeForm>(spec.form).node_kinds[NodeKindId(0)].nic->shared_by = shared_by;
  return build_platform(std::move(spec));
}

TEST_CASE("all-reduce: as many rings as NICs where devices share them, and each NIC carries one ring each way") {
  // 16 members on 2 nodes of 8 with four NICs of 1 GB/s: 2 * 15/16 of 8 GB over four of them.
  const Platform platform = with_shared_nics(2, 8, 2, {.algorithm = Algorithm::Ring});
  const std::vector<DeviceId> all = devices_of(platform);
  CHECK(rings_of(platform, all) == 4);
  const auto crossed = crossings(platform, all_reduce(platform, all, Bytes(1)));
  int cards = 0;
  for (const auto& [name, count] : crossed) {
    if (name.find(".nic") == std::string::npos) continue;
    ++cards;
    CHECK(count == 1);
  }
  CHECK(cards == 2 * 4 * 2);
  CHECK(iteration(platform, 8'000'000'000) == doctest::Approx(2 * 15.0 / 16 * 8 / 4).epsilon(1e-9));
  // gpu0, gpu1, gpu2 of each node use two NICs, gpu0 and gpu1 only one.
  const auto some = [](std::uint32_t in_node) {
    std::vector<DeviceId> members;
    for (std::uint32_t node = 0; node < 2; ++node) {
      for (std::uint32_t i = 0; i < in_node; ++i) members.emplace_back(8 * node + i);
    }
    return members;
  };
  CHECK(rings_of(platform, some(3)) == 2);
  for (const auto& [name, count] : crossings(platform, all_reduce(platform, some(3), Bytes(1)))) {
    if (name.find(".nic") != std::string::npos) CHECK(count == 1);
  }
  CHECK(rings_of(platform, some(2)) == 1);
  // One NIC for all eight is one ring, as with a NIC of the node.
  const Platform one = with_shared_nics(2, 8, 8, {});
  CHECK(rings_of(one, all) == 1);
  CHECK(all_reduce(one, all, Bytes(1)).phases.size() == 1);
}

TEST_CASE("all-reduce: NICs of nodes that have no member do not count") {
  PlatformSpec spec = cluster(2, 4).spec;
  auto& form = std::get<NodeForm>(spec.form);
  NodeKind other = form.node_kinds[NodeKindId(0)];
  other.nic->per_device = false;
  form.groups.push_back({form.node_kinds.push_back(other), 1});
  const Platform platform = build_platform(std::move(spec));
  std::vector<DeviceId> members = devices_of(platform);
  CHECK(rings_of(platform, members) == 1);
  members.resize(8);
  CHECK(rings_of(platform, members) == 4);
}

// 2 nodes of 4 with two NICs of 1 GB/s, 8 GB. Hierarchical: 2 * 3/4 of 8 GB at 8 GB/s, and four rings of 2 * 1/2 of 2
// GB, two over each NIC: 5.5 s. In two rings 2 * 7/8 of 8 GB over two NICs, 7 s. With one NIC for all four 9.5, and
// 14 s.
TEST_CASE("all-reduce: automatic chooses among rings that share NICs, too") {
  const auto phases = [](std::uint32_t shared_by) {
    const Platform platform = with_shared_nics(2, 4, shared_by, {});
    return all_reduce(platform, devices_of(platform), Bytes(8'000'000'000)).phases.size();
  };
  const Platform shared = with_shared_nics(2, 4, 2, {});
  CHECK(all_reduce_time(shared, {devices_of(shared)}, Bytes(8'000'000'000)).value() ==
        doctest::Approx(5.5).epsilon(1e-9));
  CHECK(phases(2) == 3);
  CHECK(phases(4) == 3);
}

// 1 GB. Four devices with 50 GB/s for each pair and direction: each sends 1.5 GB over 150 GB/s. Eight with 48 GB/s:
// 1.75 GB over 336 GB/s. A single ring uses one link of each device.
TEST_CASE("all-reduce: over all links of a mesh") {
  const auto time = [](std::uint32_t devices, double bandwidth, std::optional<std::int64_t> rings) {
    PlatformSpec spec =
        test::built(test::nodes_of(1, devices, Interconnect{FullNode{}, test::link_of(bandwidth)})).spec;
    spec.collectives.rings = rings;
    const Platform platform = build_platform(std::move(spec));
    CHECK(rings_of(platform, devices_of(platform)) == (rings ? *rings : std::int64_t{devices} - 1));
    return iteration(platform, 1'000'000'000);
  };
  CHECK(time(4, 50e9, std::nullopt) == doctest::Approx(0.010).epsilon(1e-6));
  CHECK(time(4, 50e9, 1) == doctest::Approx(0.030).epsilon(1e-6));
  CHECK(time(8, 48e9, std::nullopt) == doctest::Approx(1.75 / 336).epsilon(1e-6));
  CHECK(time(3, 50e9, std::nullopt) == doctest::Approx(4.0 / 3 / 100).epsilon(1e-6));
  CHECK(time(2, 50e9, std::nullopt) == doctest::Approx(1.0 / 50).epsilon(1e-6));
}

/// The pairs of a DGX-1 that have two links.
const CubeMeshNode kDgx1{{{0, 3}, {0, 4}, {1, 2}, {1, 5}, {2, 3}, {4, 7}, {5, 6}, {6, 7}}};

/// The platform of one node of eight devices, with at most so many rings.
Platform one_node(decltype(Interconnect::shape) shape, LinkSpec link, std::optional<std::int64_t> rings = {}) {
  PlatformSpec spec = test::built(test::nodes_of(1, 8, Interconnect{std::move(shape), link})).spec;
  spec.collectives.rings = rings;
  return build_platform(std::move(spec));
}

// 1 GB over links of 25 GB/s, of which every device of a DGX-1 has six: in six rings 2 * 7/8 GB over 150 GB/s. Without
// doubled pairs each has four.
TEST_CASE("all-reduce: over all links of a cube mesh") {
  const LinkSpec link = test::link_of(25e9);
  CHECK(iteration(one_node(kDgx1, link), 1'000'000'000) == doctest::Approx(1.75 / 150).epsilon(1e-6));
  CHECK(iteration(one_node(CubeMeshNode{}, link), 1'000'000'000) == doctest::Approx(1.75 / 100).epsilon(1e-6));
  const Platform platform = one_node(kDgx1, link);
  // Each direction of each of the 16 links carries one flow.
  const auto crossed = crossings(platform, all_reduce(platform, devices_of(platform), Bytes(1)));
  CHECK(crossed.size() == 32);
  for (const auto& [name, count] : crossed) CHECK(count == 1);
  CHECK(rings_of(platform, devices_of(platform)) == 6);
}

// 2 (n - 1) / n of 1 GB over as many links of 25 GB/s as the member has that has fewest to the others.
TEST_CASE("all-reduce: some members of a cube mesh use the links among themselves") {
  const Platform platform = one_node(kDgx1, test::link_of(25e9));
  const auto time = [&](const std::vector<std::uint32_t>& members) {
    return all_reduce_time(platform, {these(members)}, Bytes(1'000'000'000)).value() * 25;
  };
  const auto near = [](double value) { return doctest::Approx(value).epsilon(1e-9); };
  CHECK(time({0, 1, 2, 3}) == near(1.5 / 4));
  CHECK(time({0, 3, 7, 4}) == near(1.5 / 2));   // one link between 3 and 7
  CHECK(time({3, 0, 4, 7}) == near(1.5 / 2));   // the same in another order
  CHECK(time({0, 1, 2}) == near(4.0 / 3 / 2));  // 0 has one link to each other one
  CHECK(time({0, 3}) == near(1.0 / 2));         // two links, one ring
  CHECK(time({0, 1, 2, 4}) == near(1.5 / 1));   // 4 has a link to 0 alone: one ring over other devices
  CHECK(rings_of(platform, these({0, 1, 2, 4})) == 1);
}

/// Nodes of devices with 200 GB/s inside and a NIC of 25 GB/s each, in a network of rails.
Platform on_rails(std::uint32_t nodes, std::uint32_t devices) {
  const Interconnect inside{SwitchedNode{}, test::link_of(200e9)};
  PlatformSpec spec = test::built(test::nodes_of(nodes, devices, inside, RailsNetwork{test::link_of(25e9)},
                                                 NicSpec{test::link_of(25e9), true}))
                          .spec;
  spec.collectives.algorithm = Algorithm::Ring;
  return build_platform(std::move(spec));
}

// 1 GB in as many rings as rails, each with its share of the bytes in a rail of its own: no uplink is crossed, and
// every NIC carries one ring each way.
TEST_CASE("all-reduce: rings stay in their rails") {
  for (const std::uint32_t devices : {2U, 3U, 4U, 8U}) {
    for (const std::uint32_t nodes : {2U, 3U, 4U, 5U}) {
      CAPTURE(devices);
      CAPTURE(nodes);
      const Platform platform = on_rails(nodes, devices);
      const auto crossed = crossings(platform, all_reduce(platform, devices_of(platform), Bytes(1)));
      std::size_t cards = 0;
      bool changes_rails = false;
      for (const auto& [name, count] : crossed) {
        if (name.find(".nic.") != std::string::npos) ++cards;
        if (name.find(".nic.") != std::string::npos) CHECK(count == 1);
        if (name.starts_with("rail")) changes_rails = true;
      }
      CHECK(cards == std::size_t{2} * nodes * devices);
      CHECK(changes_rails == (devices == 2 && nodes % 2 == 1));  // which no order of two devices avoids
      const double n = nodes * devices;
      const double ring = 2 * (n - 1) / n / devices / 25;
      CHECK(iteration(platform, 1'000'000'000) == doctest::Approx(ring).epsilon(1e-6));
    }
  }
}

TEST_CASE("all-reduce: at most as many rings inside a node as wanted, in pairs of both directions") {
  const LinkSpec link = test::link_of(25e9);
  const auto in_rings = [&](decltype(Interconnect::shape) shape, std::int64_t rings) {
    const Platform platform = one_node(std::move(shape), link, rings);
    CHECK(rings_of(platform, devices_of(platform)) <= rings);
    return 1.75 / 25 / iteration(platform, 1'000'000'000);
  };
  const auto near = [](double value) { return doctest::Approx(value).epsilon(1e-6); };
  for (const std::int64_t rings : {2, 4, 6}) CHECK(in_rings(kDgx1, rings) == near(static_cast<double>(rings)));
  CHECK(in_rings(kDgx1, 5) == near(4));
  CHECK(in_rings(kDgx1, 64) == near(6));
  CHECK(in_rings(FullNode{}, 6) == near(6));
  CHECK(in_rings(FullNode{}, 7) == near(7));
  CHECK(in_rings(FullNode{}, 3) == near(2));
}

TEST_CASE("all-reduce: a ring of links both ways round, unless each serves both directions") {
  const auto rings = [&](Duplex duplex) { return one_node(RingNode{}, test::link_of(25e9, 0.0, duplex)); };
  CHECK(iteration(rings(Duplex::Full), 1'000'000'000) == doctest::Approx(1.75 / 50).epsilon(1e-6));
  CHECK(iteration(rings(Duplex::Half), 1'000'000'000) == doctest::Approx(1.75 / 25).epsilon(1e-6));
  // Half of the links of a full node, or of a cube mesh.
  const LinkSpec half = test::link_of(25e9, 0.0, Duplex::Half);
  CHECK(iteration(one_node(FullNode{}, half), 1'000'000'000) == doctest::Approx(1.75 / 25 / 3.5).epsilon(1e-6));
  CHECK(iteration(one_node(kDgx1, half), 1'000'000'000) == doctest::Approx(1.75 / 25 / 3).epsilon(1e-6));
}

// Two DGX-1 behind a NIC of 12.5 GB/s each, 1 GB: 7/8 of it twice inside at 150 GB/s, every byte once over the NICs.
TEST_CASE("all-reduce: hierarchical over cube meshes uses their links") {
  const Platform platform = test::built(test::nodes_of(2, 8, Interconnect{kDgx1, test::link_of(25e9)},
                                                       SwitchedNetwork{}, NicSpec{test::link_of(12.5e9), false}));
  CHECK(iteration(platform, 1'000'000'000) == doctest::Approx(1.75 / 150 + 0.08).epsilon(1e-6));
}

// Two nodes of eight behind a NIC of 12.5 GB/s each, 1 GB: every byte crosses once each way, 80 ms, between two
// exchanges of 7/8 at 300 GB/s. One ring has 2 * 15/16 of the bytes on its NICs. The flows share them in every engine.
TEST_CASE("all-reduce: nodes with one NIC") {
  const auto time = [](Algorithm algorithm, double nic) {
    const Interconnect inside{SwitchedNode{}, test::link_of(300e9)};
    PlatformSpec spec =
        test::built(test::nodes_of(2, 8, inside, SwitchedNetwork{}, NicSpec{test::link_of(nic), false})).spec;
    spec.collectives.algorithm = algorithm;
    const Platform platform = build_platform(std::move(spec));
    const double evaluated = iteration(platform, 1'000'000'000);
    CHECK(lowered_time(platform, MemberRings{devices_of(platform)}, Exchange::Kind::AllReduce, Bytes(0),
                       Bytes(1'000'000'000))
              .value() == doctest::Approx(evaluated).epsilon(1e-9));
    CHECK(all_reduce_time(platform, {devices_of(platform)}, Bytes(1'000'000'000)).value() ==
          doctest::Approx(evaluated).epsilon(1e-6));
    return evaluated;
  };
  for (const double nic : {12.5e9, 6.25e9}) {
    const double hierarchical = 2 * 0.875 / 300 + 1e9 / nic;
    CHECK(time(Algorithm::Ring, nic) == doctest::Approx(1.875e9 / nic).epsilon(1e-6));
    CHECK(time(Algorithm::Hierarchical, nic) == doctest::Approx(hierarchical).epsilon(1e-6));
    CHECK(time(Algorithm::Auto, nic) == doctest::Approx(hierarchical).epsilon(1e-6));
  }
}

// Two nodes of two devices behind a card each of 1 GB/s, of which one carries one flow at a time. In a ring a flow of
// 3/2 of 1 GB leaves each node. In two rings two flows of half of that do, one after the other over that card.
TEST_CASE("all-reduce: flows that take turns on a link do not share others") {
  for (const std::int64_t rings : {1, 2}) {
    const Interconnect inside{SwitchedNode{}, test::link_of(1e12)};
    NodeForm form = test::nodes_of(1, 2, inside, SwitchedNetwork{}, NicSpec{test::link_of(1e9), false});
    form.node_kinds.push_back(form.node_kinds[NodeKindId(0)]);
    form.node_kinds[NodeKindId(1)].name = "exclusive";
    form.node_kinds[NodeKindId(1)].nic->link.sharing = Sharing::Exclusive;
    form.groups.push_back({NodeKindId(1), 1});
    PlatformSpec spec = test::built(std::move(form)).spec;
    spec.collectives = {.algorithm = Algorithm::Ring, .rings = rings};
    const Platform platform = build_platform(std::move(spec));
    CHECK(rings_of(platform, devices_of(platform)) == rings);
    CHECK(iteration(platform, 1'000'000'000) == doctest::Approx(1.5).epsilon(1e-6));
    CHECK(lowered_time(platform, MemberRings{devices_of(platform)}, Exchange::Kind::AllReduce, Bytes(0),
                       Bytes(1'000'000'000))
              .value() == doctest::Approx(1.5).epsilon(1e-6));
  }
}

TEST_CASE("all-reduce: rings with cards of their own take the bandwidth of all cards") {
  // 16 members on 4 nodes of 4: 2 * 15/16 of 8 GB over four cards of 1 GB/s, after 29 steps and with the 30th.
  const Platform platform = cluster(4, 4, {.algorithm = Algorithm::Ring}, true, 1e-3);
  const double latency = 2e-3;  // over two NICs
  CHECK(iteration(platform, 8'000'000'000) == doctest::Approx(30 * latency + 2 * 15.0 / 16 * 8 / 4).epsilon(1e-9));
}

TEST_CASE("all-reduce: hierarchical takes its three phases, and automatic the faster of both") {
  // 4 nodes of 4: reduce-scatter of 3/4 of V at 8 GB/s in 3 steps, rings of 2 * 3/4 of V/4 at 1 GB/s in 6, all-gather.
  // One step inside crosses two links of 1 ms, one between nodes two NICs.
  const auto hierarchical = [](double gigabytes) {
    return 2 * (3 * 2e-3 + 0.75 * gigabytes / 8) + 6 * 2e-3 + 1.5 * gigabytes / 4;
  };
  const auto ring = [](double gigabytes) { return 30 * 2e-3 + 2 * 15.0 / 16 * gigabytes / 4; };
  const auto time = [](Algorithm algorithm, std::int64_t bytes) {
    return iteration(cluster(4, 4, {.algorithm = algorithm}, true, 1e-3), bytes);
  };
  for (const std::int64_t bytes : {16'000'000LL, 800'000'000LL, 8'000'000'000LL}) {
    CAPTURE(bytes);
    const double gigabytes = static_cast<double>(bytes) / 1e9;
    CHECK(time(Algorithm::Hierarchical, bytes) == doctest::Approx(hierarchical(gigabytes)).epsilon(1e-9));
    CHECK(time(Algorithm::Ring, bytes) == doctest::Approx(ring(gigabytes)).epsilon(1e-9));
    CHECK(time(Algorithm::Auto, bytes) ==
          doctest::Approx(std::min(ring(gigabytes), hierarchical(gigabytes))).epsilon(1e-9));
  }
}

TEST_CASE("all-reduce: a ring that enters a node twice, and nodes of other sizes, stay one ring") {
  const Platform platform = cluster(2, 2, {.algorithm = Algorithm::Ring});
  const std::vector<DeviceId> zigzag = {DeviceId(0), DeviceId(2), DeviceId(1), DeviceId(3)};
  const AllReduce twice = all_reduce(platform, zigzag, Bytes(1));
  REQUIRE(twice.phases.size() == 1);
  CHECK(twice.phases[0].flows.size() == 4);
  const AllReduce uneven = all_reduce(platform, {DeviceId(0), DeviceId(1), DeviceId(2)}, Bytes(1));
  REQUIRE(uneven.phases.size() == 1);
  CHECK(uneven.phases[0].flows.size() == 3);
}

// Two nodes of 2: reduce-scatter of half of V at 8 GB/s, rings of half of V at 1 GB/s, all-gather. In two rings 2 * 3/4
// of V / 2 at 1 GB/s, in one ring twice that.
TEST_CASE("all-reduce: the members of each node decide, in whatever order the ring has them") {
  const auto members = [](const std::vector<std::uint32_t>& order) {
    std::vector<DeviceId> devices;
    for (std::uint32_t device : order) devices.emplace_back(device);
    return devices;
  };
  const auto time = [&](Algorithm algorithm, const std::vector<std::uint32_t>& order) {
    return all_reduce_time(cluster(2, 2, {.algorithm = algorithm}), {members(order)}, Bytes(8'000'000'000));
  };
  for (const std::vector<std::uint32_t>& order :
       {std::vector{0U, 1U, 2U, 3U}, std::vector{1U, 2U, 3U, 0U}, std::vector{0U, 2U, 1U, 3U}}) {
    CAPTURE(order[0]);
    CAPTURE(order[1]);
    for (const Algorithm algorithm : {Algorithm::Auto, Algorithm::Hierarchical}) {
      CHECK(time(algorithm, order).value() == doctest::Approx(2 * 0.5 + 4).epsilon(1e-9));
    }
  }
  CHECK(time(Algorithm::Ring, {1, 2, 3, 0}).value() == doctest::Approx(6).epsilon(1e-9));
  CHECK(rings_of(cluster(2, 2), members({1, 2, 3, 0})) == 2);
  // Entered inside the second of three nodes, the ring is the same: the flows of all rings are.
  const Platform larger = cluster(3, 4, {.algorithm = Algorithm::Ring});
  std::vector<DeviceId> wrapped = devices_of(larger);
  const auto straight = crossings(larger, all_reduce(larger, wrapped, Bytes(1)));
  std::ranges::rotate(wrapped, wrapped.begin() + 6);
  CHECK(crossings(larger, all_reduce(larger, wrapped, Bytes(1))) == straight);
  // Unequally many members of nodes between which it weaves: one ring.
  const Platform uneven = cluster(2, 4);
  CHECK(all_reduce(uneven, members({0, 4, 1, 5, 2}), Bytes(1)).phases.size() == 1);
}

TEST_CASE("all-reduce: efficiency takes its part of the bandwidth, and a table gives the whole time") {
  const double whole = iteration(cluster(2, 1), 1'000'000'000);
  CHECK(whole == doctest::Approx(1.0).epsilon(1e-9));
  CHECK(iteration(cluster(2, 1, {.efficiency = 0.5}), 1'000'000'000) == doctest::Approx(2.0).epsilon(1e-9));
  // Between 1 and 3 GB the bandwidth goes from 2 to 4 GB/s, so it is 3 GB/s at 2 GB; outside, the ends hold.
  CollectiveSpec measured;
  measured.table = {{Bytes(1'000'000'000), BytesPerSecond(2e9)}, {Bytes(3'000'000'000), BytesPerSecond(4e9)}};
  const Platform platform = cluster(4, 1, measured);
  const double steps = 2 * 3.0 / 4;
  CHECK(iteration(platform, 2'000'000'000) == doctest::Approx(steps * 2 / 3).epsilon(1e-9));
  CHECK(iteration(platform, 500'000'000) == doctest::Approx(steps * 0.5 / 2).epsilon(1e-9));
  CHECK(iteration(platform, 6'000'000'000) == doctest::Approx(steps * 6 / 4).epsilon(1e-9));
}

}  // namespace
}  // namespace stagecraft::all_reduce_test
