#include "planners/spp/device_order.hpp"
#include "sim/base/error.hpp"
#include "tests/planners/fixtures.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/stoer_wagner_min_cut.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <vector>

namespace stagecraft::spp_order_test {

using namespace stagecraft::spp;
using namespace stagecraft::testing;

namespace {

struct Pair {
  std::size_t a = 0;
  std::size_t b = 0;
  double bandwidth = 1.0;
};

PairBandwidths pairs_of(std::size_t devices, const std::vector<Pair>& wide) {
  PairBandwidths pairs(devices);
  for (const Pair& pair : wide) pairs.set(DeviceId(pair.a), DeviceId(pair.b), BytesPerSecond(pair.bandwidth));
  return pairs;
}

std::vector<std::size_t> numbers(const std::vector<DeviceId>& order) {
  std::vector<std::size_t> result;
  for (DeviceId device : order) result.push_back(device.value());
  return result;
}

std::vector<std::size_t> identity(std::size_t devices) {
  std::vector<std::size_t> result(devices);
  std::iota(result.begin(), result.end(), std::size_t{0});
  return result;
}

/// The node of each device, shuffled.
std::vector<std::size_t> shuffled_nodes(std::mt19937_64& random, std::size_t nodes, std::size_t per_node) {
  std::vector<std::size_t> node_of(nodes * per_node);
  for (std::size_t i = 0; i < node_of.size(); ++i) node_of[i] = i / per_node;
  std::ranges::shuffle(node_of, random);
  return node_of;
}

PairBandwidths cluster(const std::vector<std::size_t>& node_of, double ratio) {
  PairBandwidths pairs(node_of.size());
  for (std::size_t a = 0; a < node_of.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (node_of[a] == node_of[b]) pairs.set(DeviceId(a), DeviceId(b), BytesPerSecond(ratio));
    }
  }
  return pairs;
}

/// Whether the devices of each node stand side by side.
bool keeps_nodes(const std::vector<DeviceId>& order, const std::vector<std::size_t>& node_of) {
  std::set<std::size_t> seen;
  std::optional<std::size_t> last;
  for (DeviceId device : order) {
    const std::size_t node = node_of[device.value()];
    if (node != last && !seen.insert(node).second) return false;
    last = node;
  }
  return true;
}

CutGraph random_graph(std::mt19937_64& random, std::size_t size, std::uint64_t largest) {
  CutGraph graph{size, std::vector<std::int64_t>(size * size)};
  for (std::size_t a = 0; a < size; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      graph.weights[a * size + b] = graph.weights[b * size + a] = static_cast<std::int64_t>(random() % (largest + 1));
    }
  }
  return graph;
}

/// Two levels of groups whose vertices are shuffled: many ties, and cuts of every size.
CutGraph nested_graph(std::mt19937_64& random, std::size_t size) {
  const std::size_t inner = 1 + random() % 4;
  const std::size_t outer = inner * (1 + random() % 4);
  std::vector<std::size_t> place = identity(size);
  std::ranges::shuffle(place, random);
  const auto wide = static_cast<std::int64_t>(2 + random() % 60);
  const auto wider = wide + static_cast<std::int64_t>(random() % 60);
  CutGraph graph{size, std::vector<std::int64_t>(size * size)};
  for (std::size_t a = 0; a < size; ++a) {
    for (std::size_t b = 0; b < size; ++b) {
      if (a == b) continue;
      const bool in_outer = place[a] / outer == place[b] / outer;
      const bool in_inner = place[a] / inner == place[b] / inner;
      graph.weights[a * size + b] = in_inner ? wider : in_outer ? wide : 1;
    }
  }
  return graph;
}

std::int64_t boost_weight(const CutGraph& graph) {
  using Edge = boost::property<boost::edge_weight_t, std::int64_t>;
  boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, boost::no_property, Edge> complete(graph.size);
  for (std::size_t a = 0; a < graph.size; ++a) {
    for (std::size_t b = 0; b < a; ++b) boost::add_edge(a, b, graph.weights[a * graph.size + b], complete);
  }
  return boost::stoer_wagner_min_cut(complete, boost::get(boost::edge_weight, complete));
}

/// The rules written anew: a vertex is the set of its members, called by the smallest; all phases are run.
MinCut cut_by_rule(const CutGraph& graph) {
  using Vertex = std::set<std::size_t>;
  std::set<Vertex> vertices;  // ordered by smallest member
  for (std::size_t v = 0; v < graph.size; ++v) vertices.insert({v});
  const auto tightness = [&](const Vertex& vertex, const std::vector<Vertex>& taken) {
    std::int64_t sum = 0;
    for (const Vertex& other : taken) {
      for (std::size_t a : vertex) {
        for (std::size_t b : other) sum += graph.weights[a * graph.size + b];
      }
    }
    return sum;
  };
  std::optional<MinCut> best;
  while (vertices.size() > 1) {
    std::vector<Vertex> taken{*vertices.begin()};
    std::set<Vertex> open(std::next(vertices.begin()), vertices.end());
    std::int64_t weight = 0;
    while (!open.empty()) {
      weight = -1;
      Vertex tightest;
      for (const Vertex& vertex : open) {
        const std::int64_t sum = tightness(vertex, taken);
        if (sum <= weight) continue;
        weight = sum;
        tightest = vertex;
      }
      open.erase(tightest);
      taken.push_back(tightest);
    }
    Vertex last = taken.back();
    if (!best || weight < best->weight) best = {weight, {last.begin(), last.end()}};
    const Vertex before = taken[taken.size() - 2];
    vertices.erase(last);
    vertices.erase(before);
    last.insert(before.begin(), before.end());
    vertices.insert(last);
  }
  return *best;
}

bool is_same(const MinCut& a, const MinCut& b) { return a.weight == b.weight && a.side == b.side; }

}  // namespace

TEST_CASE("spp: orders the specification's devices by recursive minimum cuts") {
  CHECK(numbers(device_order(pairs_of(4, {{0, 2, 10}, {1, 3, 10}}))) == std::vector<std::size_t>{0, 2, 1, 3});
  CHECK(numbers(device_order(pairs_of(5, {{0, 4, 20}, {2, 3, 20}, {1, 2, 6}, {1, 3, 6}}))) ==
        std::vector<std::size_t>{0, 4, 1, 2, 3});
}

TEST_CASE("spp: the specification's first cuts") {
  // b4 without the diagonal; both sides have two vertices, so either may be named.
  const CutGraph b4{4, {0, 1, 10, 1, 1, 0, 1, 10, 10, 1, 0, 1, 1, 10, 1, 0}};
  CHECK(first_minimum_cut(b4).weight == 4);
  CHECK(first_minimum_cut(b4).side == std::vector<std::size_t>{1, 3});
  const CutGraph b5{5, {0, 1, 1, 1, 20, 1, 0, 6, 6, 1, 1, 6, 0, 20, 1, 1, 6, 20, 0, 1, 20, 1, 1, 1, 0}};
  CHECK(first_minimum_cut(b5).weight == 6);
}

TEST_CASE("spp: a minimum cut weighs what Boost's does") {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 400; ++trial) {
    CAPTURE(trial);
    const std::size_t size = 2 + random() % 23;
    const CutGraph graph = trial % 2 == 0 ? random_graph(random, size, 1 + random() % 100) : nested_graph(random, size);
    const MinCut cut = first_minimum_cut(graph);
    REQUIRE(cut.weight == boost_weight(graph));
    std::int64_t weight = 0;
    const std::set<std::size_t> side(cut.side.begin(), cut.side.end());
    REQUIRE(side.size() < size);
    for (std::size_t a : side) {
      for (std::size_t b = 0; b < size; ++b) weight += side.contains(b) ? 0 : graph.weights[a * size + b];
    }
    REQUIRE(weight == cut.weight);
  }
}

TEST_CASE("spp: of minimum cuts that tie, the one that the rules find first") {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 300; ++trial) {
    CAPTURE(trial);
    const std::size_t size = 2 + random() % 19;
    const CutGraph graph = trial % 3 == 0 ? random_graph(random, size, 1 + random() % 3) : nested_graph(random, size);
    REQUIRE(is_same(first_minimum_cut(graph), cut_by_rule(graph)));
  }
}

TEST_CASE("spp: an order keeps the devices of a node together, whatever their numbers") {
  std::mt19937_64 random(3);
  const std::vector<std::pair<std::size_t, std::size_t>> shapes{{2, 2}, {2, 4}, {2, 8}, {3, 4}, {4, 2}, {4, 4}};
  for (int trial = 0; trial < 360; ++trial) {
    CAPTURE(trial);
    const auto [nodes, per_node] = shapes[static_cast<std::size_t>(trial) % shapes.size()];
    const double ratio = 1.5 + 38.5 * static_cast<double>(random() % 1001) / 1000.0;
    const std::vector<std::size_t> node_of = shuffled_nodes(random, nodes, per_node);
    const std::vector<DeviceId> order = device_order(cluster(node_of, ratio));
    std::vector<std::size_t> sorted = numbers(order);
    std::ranges::sort(sorted);
    REQUIRE(sorted == identity(node_of.size()));
    REQUIRE(keeps_nodes(order, node_of));
  }
}

TEST_CASE("spp: equal bandwidths give the platform's own order, however many devices there are") {
  for (std::size_t devices : {1U, 2U, 3U, 7U, 1024U}) {
    CHECK(numbers(device_order(PairBandwidths(devices, BytesPerSecond(0.1)))) == identity(devices));
  }
}

TEST_CASE("spp: many nodes stay together, whether single devices or whole nodes are cut off") {
  std::mt19937_64 random(4);
  const std::vector<std::size_t> node_of = shuffled_nodes(random, 16, 8);
  for (double ratio : {24.0, 130.0, 1000.0}) {  // the node cut is least above 8 * 15
    CHECK(keeps_nodes(device_order(cluster(node_of, ratio)), node_of));
  }
}

TEST_CASE("spp: bandwidths that are no whole numbers tie as they should") {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 30; ++trial) {
    CAPTURE(trial);
    const std::vector<std::size_t> node_of = shuffled_nodes(random, 3, 4);
    PairBandwidths thirds = cluster(node_of, 3.0);
    PairBandwidths whole = thirds;
    for (std::size_t a = 0; a < node_of.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const BytesPerSecond bandwidth = whole.between(DeviceId(a), DeviceId(b));
        thirds.set(DeviceId(a), DeviceId(b), bandwidth / 30.0);
      }
    }
    REQUIRE(device_order(thirds) == device_order(whole));
  }
}

TEST_CASE("spp: a pair has the smallest bandwidth on its route") {
  const PairBandwidths pairs = pair_bandwidths(flat_platform(3, 7.0));
  CHECK(pairs.size() == 3);
  CHECK(pairs.between(DeviceId(0), DeviceId(2)) == BytesPerSecond(7));
  CHECK(pairs.between(DeviceId(2), DeviceId(0)) == BytesPerSecond(7));
}

TEST_CASE("spp: devices that are not connected are named") {
  PlatformSpec spec = flat_platform(3).spec;
  auto& form = std::get<ExplicitForm>(spec.form);
  form.links.push_back({"", std::pair(DeviceId(0), DeviceId(1)), *form.default_link});
  form.default_link.reset();
  const Platform platform = build_platform(spec);
  CHECK_THROWS_WITH_AS((void)pair_bandwidths(platform),
                       doctest::Contains("'gpu2' and 'gpu0' of platform 'flat' are not connected"), InputError);
}

}  // namespace stagecraft::spp_order_test
