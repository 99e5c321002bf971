#include "sim/model/graph_order.hpp"

#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace stagecraft;

namespace {

struct Arrow {
  std::uint32_t from;
  std::uint32_t to;
  std::int64_t bytes = 1;
};

LayerGraph graph(std::size_t count, const std::vector<Arrow>& arrows) {
  LayerGraph result;
  result.layers.resize(count);
  for (const Arrow& arrow : arrows)
    result.edges.push_back({LayerId(arrow.from), LayerId(arrow.to), Bytes(arrow.bytes)});
  return result;
}
std::vector<std::uint32_t> numbers(const std::vector<LayerId>& layers) {
  std::vector<std::uint32_t> result;
  for (LayerId layer : layers) result.push_back(layer.value());
  return result;
}
std::vector<std::int64_t> cuts(const LayerGraph& layers) {
  std::vector<std::int64_t> result;
  for (Bytes bytes : cut_bytes(layers, canonical_order(layers))) result.push_back(bytes.value());
  return result;
}
using Order = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("graph order: a cycle is told layer by layer, each feeding the next and the last the first") {
  CHECK(find_cycle(graph(4, {{0, 1}, {1, 2}, {0, 3}, {3, 2}})).empty());
  CHECK(numbers(find_cycle(graph(5, {{0, 1}, {1, 2}, {2, 3}, {3, 1}, {3, 4}}))) == Order{1, 2, 3});
  CHECK(numbers(find_cycle(graph(2, {{0, 1}, {1, 1}}))) == Order{1});
  CHECK(find_cycle(graph(0, {})).empty());
}

TEST_CASE("graph order: whatever the graph, a cycle found is one and none is missed, seeds 1 to 200") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 dice(seed);
    std::vector<Arrow> arrows;
    for (int i = 0; i < 9; ++i) {
      arrows.push_back({static_cast<std::uint32_t>(dice() % 8), static_cast<std::uint32_t>(dice() % 8)});
    }
    const LayerGraph layers = graph(8, arrows);
    const std::vector<LayerId> cycle = find_cycle(layers);
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const LayerId next = cycle[(i + 1) % cycle.size()];
      CHECK(std::ranges::any_of(layers.edges, [&](const LayerEdge& e) { return e.from == cycle[i] && e.to == next; }));
    }
    if (!cycle.empty()) {
      CHECK_THROWS_AS(static_cast<void>(canonical_order(layers)), InternalError);
      continue;
    }
    const std::vector<LayerId> order = canonical_order(layers);
    for (const LayerEdge& edge : layers.edges) {
      CHECK(std::ranges::find(order, edge.from) < std::ranges::find(order, edge.to));
    }
  }
}

TEST_CASE("graph order: ties go by the order of the file") {
  CHECK(numbers(canonical_order(graph(4, {}))) == Order{0, 1, 2, 3});
  CHECK(numbers(canonical_order(graph(4, {{3, 0}}))) == Order{1, 2, 3, 0});
  // 4 frees 0, which comes before 2 and 3, although these were ready first.
  CHECK(numbers(canonical_order(graph(5, {{1, 4}, {4, 0}, {1, 2}, {1, 3}}))) == Order{1, 2, 3, 4, 0});
  CHECK(numbers(canonical_order(graph(5, {{1, 0}, {1, 2}, {1, 3}, {0, 4}}))) == Order{1, 0, 2, 3, 4});
}

TEST_CASE("graph order: a cut carries every tensor that is made before and used after it, once") {
  CHECK(cuts(graph(3, {{0, 1, 10}, {1, 2, 7}})) == std::vector<std::int64_t>{10, 7});
  // A skip connection from 0 to 3: its tensor crosses all cuts, and the first one once.
  CHECK(cuts(graph(4, {{0, 1, 10}, {1, 2, 7}, {2, 3, 5}, {0, 3, 10}})) == std::vector<std::int64_t>{10, 17, 15});
  // Edges with bytes of their own: each cut has the largest that crosses it there.
  CHECK(cuts(graph(4, {{0, 1, 4}, {0, 2, 9}, {0, 3, 6}, {2, 3, 1}})) == std::vector<std::int64_t>{9, 9, 7});
  CHECK(cuts(graph(4, {{0, 3, 2}, {0, 1, 4}})) == std::vector<std::int64_t>{4, 2, 2});
  CHECK(cuts(graph(2, {{0, 1, 3}, {0, 1, 8}})) == std::vector<std::int64_t>{8});
  CHECK(cuts(graph(1, {})).empty());
  CHECK(cuts(graph(0, {})).empty());
}

TEST_CASE("graph order: adjacency lists edges by their position") {
  const LayerGraph layers = graph(3, {{0, 2}, {0, 1}, {1, 2}});
  const Adjacency neighbours = adjacency(layers);
  CHECK(neighbours.outgoing[LayerId(0)] == std::vector<std::size_t>{0, 1});
  CHECK(neighbours.incoming[LayerId(2)] == std::vector<std::size_t>{0, 2});
  CHECK(neighbours.incoming[LayerId(0)].empty());
}
