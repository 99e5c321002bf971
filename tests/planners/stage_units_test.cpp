#include "planners/shared/savings/stage_units.hpp"

#include "sim/model/plan.hpp"
#include "sim/schedule/stage_program.hpp"
#include "tests/planners/saving_fixtures.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

namespace stagecraft {
namespace {

/// Layer 0 makes a tensor of 6 bytes and keeps it; layer 1 reads it, and keeps 8 bytes of its own.
LayerGraph reader_that_keeps_nothing_read() {
  LayerGraph graph = testing::chain({1.0, 2.0});
  graph.layers[LayerId(0)].stash = Bytes(10);
  graph.layers[LayerId(0)].keeps = {0};
  graph.layers[LayerId(1)].stash = Bytes(8);
  graph.layers[LayerId(1)].checkpoint = Bytes(6);
  graph.layers[LayerId(1)].reads = {0};
  graph.tensors = {{LayerId(0), Bytes(6)}};
  return graph;
}

TEST_CASE("stage units: what an earlier unit keeps anyway is no part of a checkpoint, as in the ledger") {
  const LayerGraph graph = reader_that_keeps_nothing_read();
  const StageUnits units(graph, {LayerId(0), LayerId(1)});
  const SavingUnit reader = units.unit({1, 2}, {0, 2});
  CHECK(reader.stash == Bytes(8));
  CHECK(reader.checkpoint == Bytes(0));
  CHECK(units.unit({1, 2}, {1, 2}).checkpoint == Bytes(6));  // alone, it has to hold the tensor
  Stage stage;
  stage.layers = {LayerId(0), LayerId(1)};
  stage.memory = {Recompute{{LayerId(1)}}};
  CHECK(stage_program(graph, stage, {}).stash() == units.unit({0, 1}, {0, 2}).stash + reader.checkpoint);
}

TEST_CASE("stage units: layers in an order of their own are those of the whole order") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const LayerGraph graph = testing::varied_graph(2 * seed, 6);
    std::vector<LayerId> order;
    for (const LayerId layer : indices(graph.layers)) order.push_back(layer);
    const std::size_t begin = seed % 3;
    const StageUnits whole(graph, order);
    const StageUnits part(graph, {order.begin() + static_cast<std::ptrdiff_t>(begin), order.begin() + 5});
    for (std::size_t at = begin; at < 5; ++at) {
      CHECK(part.unit({at - begin, 5 - begin}, {0, 5 - begin}) == whole.unit({at, 5}, {begin, 5}));
    }
  }
}

}  // namespace
}  // namespace stagecraft
