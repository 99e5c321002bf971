#include "sim/model/bisection.hpp"

#include "tests/model/topologies.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

using namespace stagecraft;
using test::built;
using test::link_of;
using test::nodes_of;

namespace {

/// The bisection of one node, whose links have a bandwidth of 1 each unless the shape says otherwise.
double of_node(std::uint32_t devices, decltype(Interconnect::shape) shape) {
  const auto found = bisection(built(nodes_of(1, devices, Interconnect{std::move(shape), link_of(1, 0)})));
  return found ? found->bandwidth.value() : 0.0;
}

/// The bisection of nodes with one device and one NIC each.
double of_network(std::uint32_t nodes, Network network, double nic) {
  const auto found =
      bisection(built(nodes_of(nodes, 1, std::nullopt, std::move(network), NicSpec{link_of(nic, 0), false})));
  return found ? found->bandwidth.value() : 0.0;
}

doctest::Approx about(double value) { return doctest::Approx(value).epsilon(1e-12); }

}  // namespace

TEST_CASE("bisection: of the devices of one node") {
  CHECK(of_node(8, SwitchedNode{}) == about(4));
  CHECK(of_node(5, SwitchedNode{}) == about(2));  // the smaller half
  CHECK(of_node(8, FullNode{}) == about(16));
  CHECK(of_node(8, RingNode{}) == about(2));  // 3 to 4 and 7 to 0
  CHECK(of_node(2, RingNode{}) == about(1));
  CHECK(of_node(8, CubeMeshNode{}) == about(4));
  CHECK(of_node(8, CubeMeshNode{{{0, 3}, {0, 4}, {5, 1}}}) == about(6));  // two of those across are doubled
  // two devices to a switch, four to a socket: bounded by the uplinks, by the socket link, by the devices
  CHECK(of_node(8, PcieNode{2, link_of(1.5, 0), 0, {}}) == about(3));
  CHECK(of_node(8, PcieNode{2, link_of(1.5, 0), 2, link_of(0.5, 0)}) == about(0.5));
  CHECK(of_node(8, PcieNode{2, link_of(3, 0), 0, {}}) == about(4));
  CHECK(of_node(8, PcieNode{8, link_of(0.1, 0), 0, {}}) == about(4));  // both halves under one switch
  // four sockets of one switch of one device: each of the first two has a link to each of the others
  CHECK(of_node(4, PcieNode{1, link_of(9, 0), 1, link_of(0.1, 0)}) == about(0.4));
}

TEST_CASE("bisection: of nodes") {
  CHECK(of_network(8, SwitchedNetwork{}, 10) == about(40));
  CHECK(of_network(8, SwitchedNetwork{link_of(3, 0)}, 10) == about(12));
  CHECK(of_network(8, FullNetwork{link_of(1, 0)}, 10) == about(16));
  CHECK(of_network(8, FullNetwork{link_of(1, 0)}, 3) == about(12));  // the NICs bound it
  CHECK(of_network(8, TorusNetwork{{8}, link_of(1, 0)}, 10) == about(2));
  CHECK(of_network(16, TorusNetwork{{4, 4}, link_of(1, 0)}, 10) == about(8));
  CHECK(of_network(8, TorusNetwork{{4, 2}, link_of(1, 0)}, 10) == about(4));  // one link where a size is 2
  CHECK(of_network(64, TorusNetwork{{4, 4, 4}, link_of(1, 0)}, 10) == about(32));
  // six groups, one link for each of nine pairs
  CHECK(of_network(12, DragonflyNetwork{2, 1, link_of(1, 0), link_of(2, 0)}, 10) == about(18));
  // one group of four routers of two nodes: each of two with each of two
  CHECK(of_network(8, DragonflyNetwork{4, 2, link_of(1, 0), link_of(2, 0)}, 10) == about(4));
}

// Two nodes of 8 devices whose NICs have 10: eight, four or one of them.
TEST_CASE("bisection: of nodes whose devices share NICs, and whose links bring these less than they carry") {
  const auto two_nodes = [](std::optional<Interconnect> inside, const NicSpec& nic) {
    return bisection(built(nodes_of(2, 8, std::move(inside), SwitchedNetwork{}, nic)))->bandwidth.value();
  };
  const auto switched = [](double bandwidth) { return Interconnect{SwitchedNode{}, link_of(bandwidth)}; };
  CHECK(two_nodes(switched(20), {link_of(10), true}) == about(80));
  CHECK(two_nodes(switched(20), {link_of(10), true, 2}) == about(40));
  CHECK(two_nodes(switched(20), {link_of(10), true, 8}) == about(10));
  CHECK(two_nodes(switched(3), {link_of(10), true, 2}) == about(24));  // two devices bring a NIC 6
  CHECK(two_nodes(switched(1), {link_of(10), false}) == about(8));
  // 4 devices under a switch: the NICs on it get the devices' links, those above it the uplinks of 5.
  const Interconnect tree{PcieNode{4, link_of(5), 0, {}}, link_of(3)};
  CHECK(two_nodes(tree, {link_of(10), true, 2}) == about(24));
  CHECK(two_nodes(tree, {link_of(30), true, 8}) == about(10));
}

// The two clusters of whole gigabytes per second in which a router serves nodes of both halves.
TEST_CASE("bisection: a router of both halves passes on what its nodes send each other") {
  const DragonflyNetwork pairs{3, 2, link_of(10, 0), link_of(3, 0)};
  CHECK(of_network(10, pairs, 10) == about(13));  // node4 to node5 on their router, and the global link
  CHECK(of_network(2, DragonflyNetwork{2, 2, link_of(1, 0), link_of(2, 0)}, 10) == about(10));  // only the NICs
}

namespace {

/// The maximum flow between two vertices by paths of one step more each, with whole capacities.
class WholeFlow {
 public:
  explicit WholeFlow(std::size_t vertices) : left_(vertices, std::vector<std::int64_t>(vertices)) {}
  void join(std::size_t a, std::size_t b, std::int64_t there, std::int64_t back) {
    left_[a][b] += there;
    left_[b][a] += back;
  }
  std::int64_t run(std::size_t source, std::size_t sink) {
    std::int64_t sum = 0;
    while (true) {
      std::vector<bool> seen(left_.size());
      const std::int64_t more = push(source, sink, 1'000'000, seen);
      if (more == 0) return sum;
      sum += more;
    }
  }

 private:
  std::int64_t push(std::size_t at, std::size_t sink, std::int64_t most, std::vector<bool>& seen) {
    if (at == sink) return most;
    seen[at] = true;
    for (std::size_t next = 0; next < left_.size(); ++next) {
      if (seen[next] || left_[at][next] == 0) continue;
      const std::int64_t moved = push(next, sink, std::min(most, left_[at][next]), seen);
      left_[at][next] -= moved;
      left_[next][at] += moved;
      if (moved > 0) return moved;
    }
    return 0;
  }
  std::vector<std::vector<std::int64_t>> left_;
};

/// What the documentation says of a dragonfly, node by node: every NIC, router and link is a vertex or an edge.
std::int64_t flow_by_hand(std::size_t nodes, std::size_t group_size, std::size_t on_router, std::int64_t nic,
                          std::int64_t local, std::int64_t global) {
  const std::size_t routers = (nodes + on_router - 1) / on_router;
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t router = 0; router < routers; ++router) {
    if (router % group_size == 0) groups.emplace_back();
    groups.back().push_back(nodes + router);
  }
  const std::size_t source = nodes + routers;
  WholeFlow flow(source + 2);
  for (std::size_t node = 0; node < nodes; ++node) {
    flow.join(node, nodes + node / on_router, nic, nic);
    flow.join(node < nodes / 2 ? source : node, node < nodes / 2 ? node : source + 1, 1'000'000, 0);
  }
  std::vector<std::size_t> turns(groups.size());
  for (std::size_t a = 0; a < groups.size(); ++a) {
    for (std::size_t i = 0; i < groups[a].size(); ++i) {
      for (std::size_t j = i + 1; j < groups[a].size(); ++j) flow.join(groups[a][i], groups[a][j], local, local);
    }
  }
  for (std::size_t a = 0; a < groups.size(); ++a) {
    for (std::size_t b = a + 1; b < groups.size(); ++b) {
      flow.join(groups[a][turns[a]++ % groups[a].size()], groups[b][turns[b]++ % groups[b].size()], global, global);
    }
  }
  return flow.run(source, source + 1);
}

}  // namespace

TEST_CASE("bisection: of 300 random dragonflies, the maximum flow of a network written down node by node") {
  std::mt19937 random(11);
  const auto draw = [&](std::uint32_t most) { return static_cast<std::uint32_t>(1 + random() % most); };
  for (int round = 0; round < 300; ++round) {
    const std::uint32_t nodes = 1 + draw(15);
    const std::uint32_t group_size = draw(4);
    const std::uint32_t on_router = draw(3);
    const std::uint32_t nic = draw(12);
    const std::uint32_t local = draw(9);
    const std::uint32_t global = draw(9);
    CAPTURE(nodes);
    CAPTURE(group_size);
    CAPTURE(on_router);
    const DragonflyNetwork network{group_size, on_router, link_of(local, 0), link_of(global, 0)};
    CHECK(of_network(nodes, network, nic) ==
          about(static_cast<double>(flow_by_hand(nodes, group_size, on_router, nic, local, global))));
  }
}

TEST_CASE("bisection: a fat tree's narrowest level") {
  const auto tree = [](double first, double second) {
    return FatTreeNetwork{{{4, first, 2, Seconds(0)}, {2, second, 1, Seconds(0)}}, std::nullopt};
  };
  CHECK(of_network(16, tree(1, 1), 1) == about(8));
  CHECK(of_network(16, tree(2, 1), 1) == about(4));
  CHECK(of_network(16, tree(2, 4), 1) == about(1));
  CHECK(of_network(8, tree(2, 1), 1) == about(2));  // both halves under one switch of the second level
  CHECK(of_network(4, tree(2, 1), 1) == about(2));  // and of the first
}

TEST_CASE("bisection: none where nothing joins the halves") {
  CHECK_FALSE(bisection(built(nodes_of(1, 1, Interconnect{SwitchedNode{}, link_of(1, 0)}))));
  CHECK_FALSE(bisection(built(nodes_of(1, 2, std::nullopt))));
  CHECK_FALSE(bisection(built(nodes_of(2, 2, Interconnect{SwitchedNode{}, link_of(1, 0)}))));
  const auto halves = bisection(built(nodes_of(1, 5, Interconnect{SwitchedNode{}, link_of(1, 0)})));
  REQUIRE(halves);
  CHECK(*halves == Bisection{2, false, BytesPerSecond(2)});
}
