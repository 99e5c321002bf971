#include "sim/model/carried_plan.hpp"

#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace stagecraft;

namespace {

/// A chain of layers of these names, with edges that skip some.
LayerGraph network(const std::vector<std::string>& names, const std::vector<std::pair<int, int>>& skips = {}) {
  LayerGraph graph;
  for (const std::string& name : names) {
    Layer layer;
    layer.name = name;
    if (!graph.layers.empty()) {
      graph.edges.push_back({LayerId(graph.layers.size() - 1), LayerId(graph.layers.size()), Bytes(1)});
    }
    graph.layers.push_back(layer);
  }
  for (const auto& [from, to] : skips) graph.edges.push_back({LayerId(from), LayerId(to), Bytes(1)});
  return graph;
}

Stage stage(const std::vector<int>& layers, std::vector<MemoryAction> memory = {}, std::uint32_t pipeline = 0) {
  Stage result;
  for (int layer : layers) result.layers.emplace_back(layer);
  result.replicas = {DeviceId(pipeline)};
  result.memory = std::move(memory);
  result.pipeline = pipeline;
  return result;
}

std::vector<LayerId> ids(const std::vector<int>& numbers) {
  std::vector<LayerId> result;
  for (int number : numbers) result.emplace_back(number);
  return result;
}

}  // namespace

TEST_CASE("carried plan: the same model keeps its plan") {
  const LayerGraph graph = network({"a", "b", "c", "d"}, {{0, 3}});
  Plan plan;
  plan.stages = {stage({0, 1}, {Recompute{ids({0, 1})}}), stage({2, 3}, {Swap{ids({3}), false}})};
  CHECK(carried_over(plan, graph, graph).stages == plan.stages);
}

TEST_CASE("carried plan: new layers join the stage before them, and are treated like the layer before") {
  Plan plan;
  plan.stages = {stage({0, 1}, {Recompute{ids({0})}}), stage({2, 3}, {Swap{ids({2}), false}, Recompute{ids({3})}})};
  // b is gone; x comes behind a, y behind c and z at the end.
  const LayerGraph after = network({"a", "x", "c", "y", "d", "z"});
  const Plan carried = carried_over(plan, network({"a", "b", "c", "d"}), after);
  CHECK(carried.stages[0] == stage({0, 1}, {Recompute{ids({0, 1})}}));
  CHECK(carried.stages[1] == stage({2, 3, 4, 5}, {Swap{ids({2, 3}), false}, Recompute{ids({4, 5})}}));
  CHECK(layers_before(network({"a", "b", "c", "d"}), after)[LayerId(4)] == LayerId(3));
  CHECK(layers_before(network({"a", "b", "c", "d"}), after)[LayerId(1)].is_none());
}

TEST_CASE("carried plan: a layer that now follows a later stage moves there") {
  Plan plan;
  plan.stages = {stage({0, 1}, {Recompute{ids({1})}}), stage({2}), stage({3})};
  const Plan carried = carried_over(plan, network({"a", "b", "c", "d"}), network({"a", "c", "b", "d"}));
  CHECK(carried.stages[0] == stage({0}));
  CHECK(carried.stages[1] == stage({1, 2}));  // c, then b, which is no longer recomputed
  CHECK(carried.stages[2] == stage({3}));
}

TEST_CASE("carried plan: a segment whose layers do not follow each other any more is divided") {
  Plan plan;
  plan.stages = {stage({0, 1, 2, 3}, {Recompute{ids({0, 1, 2})}})};
  const Plan carried = carried_over(plan, network({"a", "b", "c", "d"}), network({"a", "d", "b", "c"}));
  CHECK(carried.stages[0] == stage({0, 1, 2, 3}, {Recompute{ids({0})}, Recompute{ids({2, 3})}}));
}

TEST_CASE("carried plan: every pipeline of a plan is carried over by itself") {
  Plan plan;
  plan.stages = {stage({0}, {}, 0), stage({0, 1}, {}, 1), stage({1, 2}, {}, 0), stage({2}, {}, 1)};
  const Plan carried = carried_over(plan, network({"a", "b", "c"}), network({"a", "x", "b", "c"}));
  CHECK(carried.stages ==
        std::vector<Stage>{stage({0, 1}, {}, 0), stage({0, 1, 2}, {}, 1), stage({2, 3}, {}, 0), stage({3}, {}, 1)});
}

TEST_CASE("carried plan: a stage without layers is refused") {
  Plan plan;
  plan.stages = {stage({0, 1}), stage({2})};
  CHECK_THROWS_WITH_AS(static_cast<void>(carried_over(plan, network({"a", "b", "c"}), network({"a", "b"}))),
                       doctest::Contains("stage 1 of the plan has none of the layers"), InputError);
}
