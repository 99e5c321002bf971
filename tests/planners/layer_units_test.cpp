#include "planners/shared/savings/layer_units.hpp"

#include "sim/model/graph_order.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace stagecraft::layer_units_test {

using namespace stagecraft::testing;
using Bounds = std::vector<std::size_t>;

namespace {

/// Layers of 1 s with an edge for each pair of positions.
LayerGraph graph_of(std::size_t layers, const std::vector<std::pair<std::size_t, std::size_t>>& edges) {
  LayerGraph graph = chain(std::vector<double>(layers, 1.0));
  graph.edges.clear();
  for (const auto& [from, to] : edges) graph.edges.push_back({LayerId(from), LayerId(to), Bytes(10)});
  return graph;
}

Bounds bounds(const LayerGraph& graph, UnitGrain grain) { return unit_bounds(graph, canonical_order(graph), grain); }

}  // namespace

TEST_CASE("units: each layer is one, but tiny operators that keep nothing belong to the unit before them") {
  // Microseconds of forward and backward, and whether the layer keeps something.
  const std::vector<std::pair<double, bool>> layers = {{3, false}, {9, false}, {30, false}, {3, false},
                                                       {3, true},  {9, false}, {9, false},  {10.5, false}};
  std::vector<double> times;
  for (const auto& [microseconds, keeps] : layers) times.push_back(microseconds / 3e6);
  LayerGraph graph = chain(times);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!layers[i].second) graph.layers[LayerId(i)].stash = Bytes(0);
  }
  CHECK(bounds(graph, UnitGrain::Operators) == Bounds{0, 4, 7, 8});
  CHECK(bounds(graph, UnitGrain::Layers) == Bounds{0, 1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("units: a model of tiny operators is one unit") {
  LayerGraph graph = chain({1e-7, 1e-7});
  for (Layer& layer : graph.layers) layer.stash = Bytes(0);
  CHECK(bounds(graph, UnitGrain::Operators) == Bounds{0, 2});
}

TEST_CASE("units: in a chain each layer is a block") {
  CHECK(bounds(chain({1, 1, 1}), UnitGrain::Blocks) == Bounds{0, 1, 2, 3});
}

TEST_CASE("units: residual branches are in one block with their addition") {
  // 0 → 1 → 2 → 3 → 4 and 0 → 3, where 3 adds; then 3 → 4 → 5 and 3 → 5.
  const LayerGraph graph = graph_of(7, {{0, 1}, {1, 2}, {2, 3}, {0, 3}, {3, 4}, {4, 5}, {3, 5}, {5, 6}});
  CHECK(bounds(graph, UnitGrain::Blocks) == Bounds{0, 1, 4, 6, 7});
}

TEST_CASE("units: attention is one block: the queries wait for the keys, and the block's input for the addition") {
  // 0 is the input, 1 normalises, 2 3 4 are queries, keys and values, 5 = scores, 6 = context, 7 adds.
  const LayerGraph graph =
      graph_of(9, {{0, 1}, {1, 2}, {1, 3}, {1, 4}, {2, 5}, {3, 5}, {5, 6}, {4, 6}, {6, 7}, {0, 7}, {7, 8}});
  CHECK(bounds(graph, UnitGrain::Blocks) == Bounds{0, 1, 8, 9});
}

TEST_CASE("units: what many later blocks read does not join them") {
  // Layer 1 is the encoder's output, which layers 3, 4 and 5 of the decoder read.
  const LayerGraph graph = graph_of(6, {{0, 1}, {1, 3}, {1, 4}, {1, 5}, {2, 3}, {3, 4}, {4, 5}});
  CHECK(bounds(graph, UnitGrain::Blocks) == Bounds{0, 1, 2, 4, 5, 6});
}

TEST_CASE("units: each grain has a word") {
  const OptionInfo option = grain_option("cuts", UnitGrain::Layers, "");
  CHECK(std::get<std::string>(option.default_value) == "layers");
  for (const UnitGrain grain : {UnitGrain::Operators, UnitGrain::Layers, UnitGrain::Blocks}) {
    CHECK(grain_of(option.choices.at(static_cast<std::size_t>(grain))) == grain);
  }
}

}  // namespace stagecraft::layer_units_test
