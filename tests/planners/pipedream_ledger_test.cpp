#include "planners/pipedream/changing_stage.hpp"
#include "planners/pipedream/level_costs.hpp"
#include "sim/model/plan.hpp"
#include "tests/planners/pipedream_oracle.hpp"
#include "tests/shared_tensors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

/// What stages need by the ledger, while `pipedream` goes from one to the next.
namespace stagecraft::pipedream_ledger_test {

using namespace stagecraft::testing;
using pipedream::ChangingStage;
using pipedream::Consumers;
using pipedream::DownSets;
using pipedream::kNothing;

namespace {

/// With branches, tensors and parameters in common, edges of their own sizes, and checkpoints.
LayerGraph drawn_graph(unsigned seed) {
  LayerGraph graph = random_graph(seed, 5 + seed % 4);
  std::mt19937 random(seed + 7);
  for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(1 + random() % 50);
  for (Layer& layer : graph.layers) layer.checkpoint = Bytes(random() % (1 + layer.stash.value()));
  if (seed % 2 == 0) share_tensors(graph, seed, 40);
  if (seed % 3 != 0) return graph;
  TiedParameters tied{{}, Bytes(30)};
  for (const LayerId id : indices(graph.layers)) {
    if (id != LayerId(0) && random() % 2 == 0) continue;
    tied.layers.push_back(id);
    graph.layers[id].parameters += tied.bytes;
  }
  graph.tied.push_back(tied);
  graph.layers[tied.layers.front()].parameters += Bytes(1);
  return graph;
}

/// What the layers of a stage exchange with others, edge by edge.
Bytes exchanged(const LayerGraph& graph, const std::vector<LayerId>& layers, Consumers consumers) {
  const auto is_here = [&](LayerId id) { return std::ranges::find(layers, id) != layers.end(); };
  Bytes sum;
  std::map<LayerId, Bytes> tensors;  // that count once, by producer
  for (const LayerEdge& edge : graph.edges) {
    if (is_here(edge.from) == is_here(edge.to)) continue;
    if (is_here(edge.from) && consumers == Consumers::Every) {
      sum += edge.bytes;
    } else {
      tensors[edge.from] = std::max(tensors[edge.from], edge.bytes);
    }
  }
  for (const auto& [producer, bytes] : tensors) sum += bytes;
  return sum;
}

/// Without times.
StageProgram program_of(const LayerGraph& graph, const std::vector<LayerId>& layers, bool recomputes) {
  Stage stage;
  stage.layers = layers;
  if (recomputes) stage.memory = {Recompute{layers}};
  StageProgram program = with_times(stage_program(graph, stage), 0.0);
  if (!recomputes) program.backward.clear();  // it restores nothing
  return program;
}

}  // namespace

TEST_CASE("pipedream: a stage that becomes another one has the bytes of its layers") {
  std::size_t stages = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const LayerGraph graph = drawn_graph(seed);
    const DownSets states = *pipedream::enumerate_down_sets(graph, 1000);
    const bool recomputes = seed % 4 < 2;
    const Consumers consumers = seed % 5 < 3 ? Consumers::One : Consumers::Every;
    ChangingStage stage(graph, states, recomputes, consumers);
    std::mt19937 random(seed);
    for (int change = 0; change < 200; ++change) {
      const std::size_t end = random() % states.count;
      const std::size_t start = random() % (end + 1) - 1;  // kNothing included
      if (start != kNothing && !precedes(states, start, end)) continue;
      const std::vector<LayerId> layers = layers_between(states, start, end);
      stage.become(start, end);
      CHECK(stage.work() == program_of(graph, layers, recomputes));
      CHECK(stage.exchanged() == exchanged(graph, layers, consumers));
      ++stages;
    }
  }
  CHECK(stages > 5000);
}

}  // namespace stagecraft::pipedream_ledger_test
