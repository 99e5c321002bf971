// Transfers on each interconnect and network: alone, two that must share links, two that must not
// share, all of one half to the other, and a ring all-reduce. The arithmetic stands beside each case, in units of a
// link of one gigabyte per second and of transfers of one gigabyte, so that a transfer alone takes a second and
// latencies.
#include "tests/model/topologies.hpp"

#include "sim/replay/replay_plan.hpp"
#include "tests/model/explicit_rails.hpp"
#include "tests/replay/runs.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::topologies_test {
namespace {

using test::built;
using test::link_of;
using test::nodes_of;

constexpr double kGiga = 1e9;
constexpr std::int64_t kGigabyte = 1'000'000'000;

using Transfers = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

doctest::Approx near(double value, double relative = 1e-9) {
  return doctest::Approx(value).epsilon(relative).scale(1e-9);
}

LinkSpec giga(double bandwidth, double latency = 0.0) { return link_of(bandwidth * kGiga, latency); }

/// When each of these transfers of a gigabyte ends, all having started at once.
std::vector<double> ends(const Platform& platform, const Transfers& transfers) {
  test::Work work(static_cast<std::uint32_t>(platform.devices.size()));
  std::vector<OpId> ids;
  for (const auto& [from, to] : transfers) ids.push_back(work.send(from, to, kGigabyte));
  const test::Times times = test::replayed(platform, work);
  std::vector<double> result;
  for (OpId id : ids) result.push_back(times.at(id).second);
  return result;
}

bool all_end(const Platform& platform, const Transfers& transfers, double at) {
  return std::ranges::all_of(ends(platform, transfers), [at](double time) { return time == near(at); });
}

double end(const Platform& platform, std::uint32_t from, std::uint32_t to) { return ends(platform, {{from, to}})[0]; }

/// Gigabytes per second of all these transfers together.
double together(const Platform& platform, const Transfers& transfers) {
  return static_cast<double>(transfers.size()) / std::ranges::max(ends(platform, transfers));
}

/// Device i of the first half to the mirrored one of the second.
Transfers mirrored(std::uint32_t devices) {
  Transfers transfers;
  for (std::uint32_t i = 0; i < devices / 2; ++i) transfers.emplace_back(i, devices - 1 - i);
  return transfers;
}

Platform node(std::uint32_t devices, decltype(Interconnect::shape) shape, double latency = 0.0) {
  return built(nodes_of(1, devices, Interconnect{std::move(shape), giga(1, latency)}));
}

/// Nodes of one device behind a NIC of `nic` gigabytes per second.
Platform network(std::uint32_t nodes, Network shape, double nic = 1.0, double latency = 0.0) {
  return built(nodes_of(nodes, 1, std::nullopt, std::move(shape), NicSpec{giga(nic, latency), false}));
}

/// A ring all-reduce of `parameters` bytes over the devices in this order, by the replay of a stage that computes
/// nothing else.
double all_reduce(Platform platform, const std::vector<std::uint32_t>& ring, std::int64_t parameters) {
  platform.spec.device_kinds[DeviceKindId(0)].name = "K";
  const LayerGraph graph = testing::chain(1, 0, 0, 0, 0, parameters);
  Plan plan = testing::straight(1, static_cast<std::int64_t>(ring.size()), "gpipe");
  plan.stages[0].replicas.clear();
  for (std::uint32_t device : ring) plan.stages[0].replicas.emplace_back(DeviceId(device));
  const ReplayOutcome outcome = replay_plan(graph, platform, plan);
  return outcome.report.iterations.back().value();
}

std::vector<std::uint32_t> in_order(std::uint32_t devices) {
  std::vector<std::uint32_t> ring(devices);
  std::iota(ring.begin(), ring.end(), 0U);
  return ring;
}

/// 2 (n - 1) steps, each the latency and an n-th of the bytes.
double closed_form(double devices, double bandwidth, double latency, double gigabytes) {
  return 2 * (devices - 1) * (latency + gigabytes / devices / bandwidth);
}

TEST_CASE("topology: a switch inside a node") {
  const Platform platform = node(8, SwitchedNode{}, 0.25);
  CHECK(end(platform, 0, 5) == near(1.5));
  CHECK(all_end(platform, {{0, 5}, {1, 5}}, 2.5));  // into one device
  CHECK(all_end(platform, {{0, 5}, {5, 0}}, 1.5));  // both ways
  CHECK(together(node(8, SwitchedNode{}), mirrored(8)) == near(4));
}

TEST_CASE("topology: a link for each pair of devices") {
  const Platform platform = node(6, FullNode{}, 0.25);
  CHECK(end(platform, 4, 1) == near(1.25));
  CHECK(all_end(platform, {{4, 1}, {4, 1}}, 2.25));
  CHECK(all_end(platform, {{4, 1}, {4, 2}, {0, 1}, {1, 4}}, 1.25));
  Transfers across;
  for (std::uint32_t a = 0; a < 3; ++a) {
    for (std::uint32_t b = 3; b < 6; ++b) across.emplace_back(a, b);
  }
  CHECK(together(node(6, FullNode{}), across) == near(9));
}

// Half the ring is left over two links: 3 to 4 and, round the other end, 0 to 7.
TEST_CASE("topology: a ring of devices") {
  const Platform platform = node(8, RingNode{}, 0.25);
  CHECK(end(platform, 7, 2) == near(1 + 3 * 0.25));
  CHECK(all_end(node(8, RingNode{}), {{0, 2}, {1, 3}}, 2));  // both over 1 to 2
  CHECK(all_end(node(8, RingNode{}), {{0, 2}, {2, 4}, {2, 0}}, 1));
  CHECK(together(node(8, RingNode{}), mirrored(8)) == near(2));
}

// 0 reaches 6 over 2; so do 1, 3 and 2 itself, which has one link across.
TEST_CASE("topology: a cube mesh") {
  const Platform platform = node(8, CubeMeshNode{{{0, 3}}}, 0.25);
  CHECK(end(platform, 0, 1) == near(1.25));
  CHECK(end(platform, 0, 3) == near(0.75));  // a doubled link
  CHECK(end(platform, 0, 6) == near(1.5));
  const Platform plain = node(8, CubeMeshNode{});
  CHECK(all_end(plain, {{0, 6}, {1, 6}}, 2));  // both over 2 to 6
  CHECK(all_end(plain, {{0, 6}, {0, 5}, {0, 3}}, 1));
  CHECK(together(plain, {{0, 4}, {1, 5}, {2, 6}, {3, 7}}) == near(4));
}

// Two devices to a switch, two switches to a socket; uplinks of 1, sockets joined by 0.5.
TEST_CASE("topology: a PCIe tree") {
  const PcieNode tree{2, giga(1), 2, giga(0.5)};
  const Platform platform = node(8, tree);
  CHECK(end(platform, 0, 1) == near(1));
  CHECK(end(platform, 0, 3) == near(1));
  CHECK(end(platform, 0, 4) == near(2));
  CHECK(all_end(platform, {{0, 2}, {1, 3}}, 2));  // both up from one switch
  CHECK(all_end(platform, {{0, 1}, {2, 3}, {4, 6}, {6, 4}}, 1));
  CHECK(together(platform, mirrored(8)) == near(0.5));
}

// A copy to host memory meets a transfer to another switch on the uplink, but not one that stays below it.
TEST_CASE("topology: swapped tensors share the PCIe tree with transfers") {
  NodeForm form = nodes_of(1, 4, Interconnect{PcieNode{2, giga(1), 0, {}}, giga(1)});
  form.node_kinds[NodeKindId(0)].host = HostSpec{Bytes(std::int64_t{1} << 40), std::nullopt, 1};
  const Platform platform = built(form);
  const auto run = [&](std::uint32_t from, std::uint32_t to) {
    test::Work work(4);
    const OpId swap = work.send(0, 4, kGigabyte);  // place 4 is the host
    const OpId sent = work.send(from, to, kGigabyte);
    const test::Times times = test::replayed(platform, work);
    return std::pair(times.at(swap).second, times.at(sent).second);
  };
  CHECK(run(1, 2) == std::pair(2.0, 2.0));
  CHECK(run(2, 1) == std::pair(1.0, 1.0));
}

TEST_CASE("topology: a switch between nodes and its ports") {
  CHECK(end(network(4, SwitchedNetwork{}, 1, 0.25), 0, 3) == near(1.5));
  CHECK(all_end(network(4, SwitchedNetwork{}), {{0, 3}, {1, 3}}, 2));
  CHECK(all_end(network(4, SwitchedNetwork{}), {{0, 3}, {1, 2}, {3, 0}}, 1));
  CHECK(together(network(4, SwitchedNetwork{}), mirrored(4)) == near(2));
  // a NIC for each of four devices, two to a node, behind one port of 1.5
  const Platform ports = built(
      nodes_of(2, 2, Interconnect{SwitchedNode{}, giga(8)}, SwitchedNetwork{giga(1.5, 0.5)}, NicSpec{giga(1), true}));
  CHECK(end(ports, 0, 2) == near(2));
  CHECK(together(ports, {{0, 2}, {1, 3}}) == near(2 / (1 + 2 / 1.5)));  // two port latencies
}

// Two nodes of 8 devices with a NIC of 0.5 for every two. A gigabyte alone takes 2; two neighbours share a NIC: 4.
TEST_CASE("topology: neighbouring devices that share a NIC") {
  const Platform shared =
      built(nodes_of(2, 8, Interconnect{SwitchedNode{}, giga(8)}, SwitchedNetwork{}, NicSpec{giga(0.5), true, 2}));
  const auto pipelines = [&](std::uint32_t count) {
    Transfers transfers;
    for (std::uint32_t i = 0; i < count; ++i) transfers.emplace_back(i, 8 + i);
    return transfers;
  };
  CHECK(all_end(shared, pipelines(1), 2));
  CHECK(all_end(shared, pipelines(2), 4));
  CHECK(all_end(shared, pipelines(8), 4));
  CHECK(all_end(shared, {{0, 8}, {2, 10}, {9, 1}}, 2));  // over NICs, or directions, of their own
  CHECK(all_end(shared, {{0, 8}, {2, 9}}, 4));           // into one NIC
  CHECK(all_end(shared, {{0, 1}, {1, 2}}, 0.125));       // not between devices of a node
  // An all-reduce of 8: in rings a quarter of 2 * 15/16 of 8 crosses each NIC. Hierarchical: 2 * 7/8 of 8 inside at 8,
  // then eight rings of 2 * 1/2 of an eighth of 8, two of them over each NIC.
  PlatformSpec spec = shared.spec;
  spec.collectives.algorithm = CollectiveSpec::Algorithm::Ring;
  CHECK(all_reduce(build_platform(spec), in_order(16), 8 * kGigabyte) == near(2 * 15.0 / 16 * 8 / 4 / 0.5));
  spec.collectives.algorithm = CollectiveSpec::Algorithm::Hierarchical;
  CHECK(all_reduce(build_platform(spec), in_order(16), 8 * kGigabyte) == near(2 * 7.0 / 8 * 8 / 8 + 8.0 / 4 / 0.5));
}

// Sockets with 3, 1, 3 and 1 devices; a link of 1 to each device, of 2 between each two sockets. In the ring of all
// eight each link of a device carries one flow each way.
TEST_CASE("topology: a tree of switches that no node has") {
  ExplicitForm form;
  for (std::uint32_t i = 0; i < 8; ++i) form.devices.push_back({"gpu" + std::to_string(i), DeviceKindId(0), {}});
  const std::vector<std::uint32_t> sockets = {0, 0, 0, 1, 2, 2, 2, 3};
  for (std::uint32_t s = 0; s < 4; ++s) form.switches.push_back("socket" + std::to_string(s));
  const auto join = [&](ExplicitEnd a, ExplicitEnd b, double bandwidth) {
    form.links.push_back({"", std::pair(a, b), giga(bandwidth)});
  };
  for (std::uint32_t i = 0; i < 8; ++i) join(DeviceId(i), SwitchId(sockets[i]), 1);
  for (std::uint32_t a = 0; a < 4; ++a) {
    for (std::uint32_t b = a + 1; b < 4; ++b) join(SwitchId(a), SwitchId(b), 2);
  }
  PlatformSpec spec = node(1, SwitchedNode{}).spec;
  spec.form = std::move(form);
  const Platform platform = build_platform(std::move(spec));
  CHECK(platform.devices.size() == 8);
  CHECK(all_reduce(platform, in_order(8), 8 * kGigabyte) == near(closed_form(8, 1, 0, 8)));
  CHECK(all_end(platform, {{0, 1}, {2, 1}}, 2));                  // into one device
  CHECK(all_end(platform, {{0, 1}, {1, 0}, {2, 4}, {5, 3}}, 1));  // each over links of its own, or another way
  CHECK(all_end(platform, {{0, 4}, {1, 5}, {2, 6}}, 1.5));        // three between two sockets
}

TEST_CASE("topology: a link for each pair of nodes") {
  const Platform platform = network(4, FullNetwork{giga(1, 0.5)}, 8);
  CHECK(end(platform, 0, 3) == near(1.5));
  CHECK(all_end(platform, {{0, 3}, {0, 3}}, 2.5));
  CHECK(all_end(platform, {{0, 3}, {0, 2}, {1, 3}}, 1.5));
  const Transfers across = {{0, 2}, {0, 3}, {1, 2}, {1, 3}};
  CHECK(together(network(4, FullNetwork{giga(1)}, 8), across) == near(4));
  CHECK(together(network(4, FullNetwork{giga(1)}, 1), across) == near(2));  // the NICs bound it
}

// 4 x 4: each row leaves its half over two links, as a ring does.
TEST_CASE("topology: a torus of nodes") {
  const TorusNetwork torus{{4, 4}, giga(1, 0.25)};
  const Platform platform = network(16, torus, 8);
  CHECK(end(platform, 0, 15) == near(1.5));  // one step back in each dimension
  CHECK(end(platform, 0, 10) == near(2));    // two steps in each
  const Platform still = network(16, TorusNetwork{{4, 4}, giga(1)}, 8);
  CHECK(all_end(still, {{0, 2}, {1, 2}}, 2));  // both over 1 to 2
  CHECK(all_end(still, {{0, 2}, {4, 6}, {0, 8}}, 1));
  Transfers across;
  for (std::uint32_t row = 0; row < 4; ++row) {
    for (std::uint32_t x = 0; x < 2; ++x) across.emplace_back(4 * row + x, 4 * row + 3 - x);
  }
  CHECK(together(still, across) == near(8));
}

// Four nodes to a leaf, two leaves to a switch; leaves carry a half of what their nodes can bring, switches all of
// what their leaves can.
TEST_CASE("topology: a fat tree of nodes") {
  const FatTreeNetwork tree{{{4, 2.0, 1, Seconds(0.25)}, {2, 1.0, 1, Seconds(0.125)}}, std::nullopt};
  const Platform platform = network(16, tree);
  CHECK(end(platform, 0, 3) == near(1));
  CHECK(end(platform, 0, 4) == near(1.5));
  CHECK(end(platform, 0, 8) == near(1.75));
  const FatTreeNetwork still{{{4, 2.0, 1, Seconds(0)}, {2, 1.0, 1, Seconds(0)}}, std::nullopt};
  CHECK(all_end(network(16, still), {{0, 4}, {1, 8}, {2, 12}}, 1.5));  // a leaf's uplink of 2
  CHECK(all_end(network(16, still), {{0, 1}, {2, 3}, {4, 8}, {5, 9}}, 1));
  CHECK(together(network(16, still), mirrored(16)) == near(4));
}

// Two uplinks of 1: nodes 0 to 3 send to nodes 4 to 7, each pair over the uplink that its hash picks.
TEST_CASE("topology: uplinks of a fat tree share only what falls to them") {
  const Platform platform = network(8, FatTreeNetwork{{{4, 2.0, 2, Seconds(0)}}, std::nullopt});
  const Transfers transfers = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
  std::vector<LinkId> uplinks;
  for (const auto& [from, to] : transfers) {
    Route route;
    REQUIRE(find_route(platform, PlaceId(from), PlaceId(to), route));
    uplinks.push_back(route.links.at(1));
  }
  const std::vector<double> when = ends(platform, transfers);
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    CHECK(when[i] == near(static_cast<double>(std::ranges::count(uplinks, uplinks[i]))));
  }
}

// Three groups of two routers of two nodes: see the routes in tests/model/topologies_test.cpp.
TEST_CASE("topology: a dragonfly of nodes") {
  const Platform platform = network(12, DragonflyNetwork{2, 2, giga(1, 0.25), giga(1, 0.5)}, 8);
  CHECK(end(platform, 0, 1) == near(0.125));  // one router: the NICs of 8 alone
  CHECK(end(platform, 0, 2) == near(1.25));
  CHECK(end(platform, 0, 4) == near(1.5));
  CHECK(end(platform, 2, 7) == near(2));
  const Platform still = network(12, DragonflyNetwork{2, 2, giga(1), giga(1)}, 8);
  CHECK(all_end(still, {{0, 4}, {1, 5}}, 2));  // the one link of both groups
  CHECK(all_end(still, {{0, 4}, {2, 8}, {5, 0}}, 1));
  CHECK(together(still, {{0, 4}, {1, 5}, {2, 6}, {3, 7}}) == near(1));
}

// Two nodes of four with a rail of 25 for each device, and 1 over all of them: four rings with 2 * 7/8 of a quarter,
// 17.5 ms; hierarchical 2 * 3/4 at 200 and a quarter once each way at 25. A ring over unknown nodes crosses an uplink.
TEST_CASE("topology: rails between the nodes that an explicit form names") {
  using Algorithm = CollectiveSpec::Algorithm;
  const auto time = [](Algorithm algorithm) {
    return all_reduce(test::explicit_rails({.algorithm = algorithm}), in_order(8), kGigabyte);
  };
  CHECK(time(Algorithm::Ring) == near(0.0175));
  CHECK(time(Algorithm::Auto) == near(0.0175));
  CHECK(time(Algorithm::Hierarchical) == near(0.0075 + 0.01));
  CHECK(all_reduce(test::explicit_rails({.are_named = false}), in_order(8), kGigabyte) > 0.07);
}

constexpr std::int64_t kBytes = 840'000'000;  // a multiple of every ring's length

void check(const Platform& platform, const std::vector<std::uint32_t>& ring, double bandwidth, double latency) {
  const double expected = closed_form(static_cast<double>(ring.size()), bandwidth, latency, 0.84);
  CHECK(all_reduce(platform, ring, kBytes) == near(expected, 1e-6));
}

TEST_CASE("topology: a ring all-reduce inside a node takes its closed form") {
  check(node(8, SwitchedNode{}, 1e-5), in_order(8), 1, 2e-5);
  check(node(6, FullNode{}, 1e-5), in_order(6), 5, 1e-5);  // over the five links of each
  check(node(7, RingNode{}, 1e-5), in_order(7), 2, 1e-5);  // both ways round
  check(node(2, RingNode{}, 1e-5), in_order(2), 1, 1e-5);
  check(node(8, CubeMeshNode{}, 1e-5), in_order(8), 4, 1e-5);
  const CubeMeshNode dgx1{{{0, 3}, {0, 4}, {1, 2}, {1, 5}, {2, 3}, {4, 7}, {5, 6}, {6, 7}}};
  check(node(8, dgx1, 1e-5), in_order(8), 6, 1e-5);  // six links of each
  check(node(8, dgx1, 1e-5), {0, 1, 2, 3}, 4, 1e-5);
  check(node(8, PcieNode{2, giga(1, 1e-5), 2, giga(0.5, 1e-5)}, 1e-5), in_order(8), 0.5, 5e-5);
}

TEST_CASE("topology: a ring all-reduce over nodes takes its closed form") {
  check(network(8, SwitchedNetwork{}, 1, 1e-5), in_order(8), 1, 2e-5);
  check(network(6, FullNetwork{giga(0.5, 1e-5)}), in_order(6), 0.5, 1e-5);
  check(network(5, TorusNetwork{{5}, giga(0.5, 1e-5)}), in_order(5), 0.5, 1e-5);
  check(network(8, TorusNetwork{{4, 2}, giga(0.5, 1e-5)}), {0, 1, 2, 3, 7, 6, 5, 4}, 0.5, 1e-5);
  // one flow leaves each leaf, whose uplink is as wide as a NIC
  check(network(16, FatTreeNetwork{{{4, 4.0, 1, Seconds(1e-5)}}, std::nullopt}), in_order(16), 1, 2e-5);
  // four rings of a quarter, each in its own rail; the uplinks, which are narrower, carry nothing
  const Interconnect inside{SwitchedNode{}, giga(200)};
  for (const std::uint32_t nodes : {2U, 3U}) {
    const Platform rails = built(nodes_of(nodes, 4, inside, RailsNetwork{giga(1)}, NicSpec{giga(25), true}));
    check(rails, in_order(4 * nodes), 100, 0);
  }
  // two groups of two routers of two nodes: the worst step is local, global, local
  check(network(8, DragonflyNetwork{2, 2, giga(1, 1e-5), giga(0.5, 1e-5)}), in_order(8), 0.5, 2e-5);
  // two nodes of four devices: inside at 4, between nodes at 1, twice a NIC's latency
  PlatformSpec two = built(nodes_of(2, 4, Interconnect{SwitchedNode{}, giga(4, 1e-6)}, SwitchedNetwork{},
                                    NicSpec{giga(1, 1e-5), false}))
                         .spec;
  two.collectives.algorithm = CollectiveSpec::Algorithm::Ring;
  check(build_platform(two), in_order(8), 1, 2e-5);
  // hierarchical, four flows share a NIC: 2 * 3/4 inside, and every byte once between the nodes
  two.collectives.algorithm = CollectiveSpec::Algorithm::Auto;
  CHECK(all_reduce(build_platform(two), in_order(8), kBytes) == near(6 * 2e-6 + 2 * 2e-5 + 0.84 * (1.5 / 4 + 1), 1e-6));
}

// 16 nodes of 8 devices, each with a card of 50 GB/s, 450 GB/s inside: 10 GB in eight rings, each of which has a card
// of its own in every node. The lower bound: 2 * 127/128 of an eighth over a card, and 254 steps of twice a NIC's
// latency.
TEST_CASE("topology: an all-reduce over nodes with a card for each device uses all cards") {
  const auto time = [](std::optional<std::int64_t> rings) {
    PlatformSpec spec = built(nodes_of(16, 8, Interconnect{SwitchedNode{}, giga(450, 2e-6)}, SwitchedNetwork{},
                                       NicSpec{giga(50, 5e-6), true}))
                            .spec;
    spec.collectives.rings = rings;
    if (rings) spec.collectives.algorithm = CollectiveSpec::Algorithm::Ring;
    return all_reduce(build_platform(std::move(spec)), in_order(128), 10'000'000'000);
  };
  const double eighth = 2.0 * 127 / 128 * 10 / 8 / 50;
  CHECK(time(std::nullopt) == near(eighth + 254 * 1e-5, 1e-6));
  CHECK(time(1) == near(8 * eighth + 254 * 1e-5, 1e-6));
}

}  // namespace
}  // namespace stagecraft::topologies_test
