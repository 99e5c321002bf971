#include "sim/model/bisection.hpp"

#include "tests/model/topologies.hpp"

#include <doctest/doctest.h>

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
