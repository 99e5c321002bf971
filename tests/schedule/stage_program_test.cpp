#include "sim/schedule/stage_program.hpp"

#include "sim/model/plan.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft::stage_program_test {

namespace {

/// Four layers in a row, each with a byte of its own. The tensor between the first two takes 10 B and is kept by both,
/// the next one 20 B, likewise, and the last one 30 B, kept by the last layer only.
LayerGraph four_layers() {
  LayerGraph graph = testing::chain(4, 1.0, 2.0);
  graph.tensors = {{LayerId(0), Bytes(10)}, {LayerId(1), Bytes(20)}, {LayerId(2), Bytes(30)}};
  const std::vector<std::vector<std::uint32_t>> keeps = {{0}, {0, 1}, {1}, {2}};
  for (const LayerId id : indices(graph.layers)) {
    Layer& layer = graph.layers[id];
    layer.keeps = keeps[id.value()];
    if (id.value() > 0) layer.reads = {id.value() - 1};
    layer.stash = Bytes(1);
    for (const std::uint32_t tensor : layer.keeps) layer.stash += graph.tensors[tensor].bytes;
  }
  return graph;
}

std::vector<LayerId> run(std::uint32_t first, std::uint32_t last) {
  std::vector<LayerId> layers;
  for (std::uint32_t i = first; i <= last; ++i) layers.emplace_back(i);
  return layers;
}

StageProgram program_with(std::vector<MemoryAction> actions) {
  Stage stage;
  stage.layers = run(0, 3);
  stage.memory = std::move(actions);
  return stage_program(four_layers(), stage);
}

}  // namespace

TEST_CASE("stage program: a tensor counts once on a stage, and again on the stage that receives it") {
  CHECK(program_with({}).kept == Bytes(4 + 10 + 20 + 30));
  const LayerGraph graph = four_layers();
  Stage stage;
  stage.layers = run(0, 1);
  CHECK(stage_program(graph, stage).stash() == Bytes(2 + 10 + 20));
  stage.layers = run(2, 3);
  CHECK(stage_program(graph, stage).stash() == Bytes(2 + 20 + 30));
}

TEST_CASE("stage program: a recompute segment keeps what it reads, and restores what nobody else keeps") {
  const StageProgram middle = program_with({Recompute{run(1, 2)}});
  CHECK(middle.kept == Bytes(2 + 10 + 30));  // the own bytes of both ends, and their tensors, one of which it reads
  REQUIRE(middle.backward.size() == 3);
  CHECK(middle.backward[1].restored == Bytes(2 + 20));
  CHECK(middle.backward[1].released == Bytes(2 + 20));

  const StageProgram both = program_with({Recompute{run(0, 1)}, Recompute{run(2, 2)}});
  CHECK(both.kept == Bytes(1 + 20 + 30));  // the second segment reads 20 B of the first one
  REQUIRE(both.backward.size() == 3);
  CHECK(both.backward[1].restored == Bytes(1));
  CHECK(both.backward[2].restored == Bytes(2 + 10));
}

TEST_CASE("stage program: a swap takes along what nobody else keeps") {
  const StageProgram one = program_with({Swap{run(2, 2)}});
  CHECK(one.kept == Bytes(3 + 10 + 20 + 30));
  REQUIRE(one.swapped.size() == 1);
  CHECK(one.swapped[0].bytes == Bytes(1));

  const StageProgram two = program_with({Swap{run(1, 1)}, Swap{run(2, 2)}});  // the later layer's comes back first
  CHECK(two.kept == Bytes(2 + 10 + 30));
  REQUIRE(two.swapped.size() == 2);
  CHECK(two.swapped[0].bytes == Bytes(1 + 20));
  CHECK(two.swapped[1].bytes == Bytes(1));
  CHECK(two.stash() == program_with({}).stash());
}

/// Of the piece that each step ends.
std::vector<Bytes> freed_by_steps(const StageProgram& program) {
  std::vector<Bytes> freed;
  Bytes sum;
  for (const BackwardStep& step : program.backward) {
    freed.push_back(step.freed);
    sum += step.freed;
  }
  CHECK(sum == program.stash());
  return freed;
}

TEST_CASE("stage program: a piece of the backward frees what no later one needs") {
  CHECK(freed_by_steps(program_with({})) == std::vector<Bytes>{Bytes(64)});
  // The segment reads the 10 B that the first layer keeps, too.
  CHECK(freed_by_steps(program_with({Recompute{run(1, 2)}})) ==
        std::vector<Bytes>{Bytes(1 + 30), Bytes(0), Bytes(1 + 10)});
  // The segment of the third layer reads 20 B, which the first segment makes.
  CHECK(freed_by_steps(program_with({Recompute{run(0, 1)}, Recompute{run(2, 2)}})) ==
        std::vector<Bytes>{Bytes(1 + 30), Bytes(0), Bytes(20)});
  // A swap of two layers with one between them that is kept; the last piece has all three.
  const StageProgram apart = program_with({Swap{{LayerId(0), LayerId(2)}}});
  CHECK(freed_by_steps(apart) == std::vector<Bytes>{Bytes(1 + 30), Bytes(3 + 10 + 20)});
  CHECK(apart.backward_workspace() == Bytes(0));
}

TEST_CASE(
    "stage program: a swapped checkpoint leaves with what no layer on the device keeps and no other segment reads") {
  Recompute segment{run(1, 2)};
  segment.swaps_checkpoint = true;
  const StageProgram middle = program_with({segment});
  CHECK(middle.kept == Bytes(2 + 10 + 30));  // the first layer keeps what the segment reads
  REQUIRE(middle.backward.size() == 3);
  CHECK(middle.backward[1].needs == 0);
  REQUIRE(middle.swapped.size() == 1);
  CHECK(middle.swapped[0].bytes == Bytes(0));

  Recompute first{run(0, 1)};
  const StageProgram both = program_with({first, Recompute{run(2, 2), {}, true}});
  CHECK(both.kept == Bytes(1 + 30));
  REQUIRE(both.swapped.size() == 1);
  CHECK(both.swapped[0].bytes == Bytes(20));
  CHECK(both.backward[1].restored == Bytes(1));
  CHECK(both.stash() == program_with({first, Recompute{run(2, 2)}}).stash());
  CHECK(freed_by_steps(both) == std::vector<Bytes>{Bytes(1 + 30), Bytes(0), Bytes(20)});  // the second layer uses it
}

TEST_CASE("stage program: what a share of a microbatch frees adds up to its stash") {
  const StageProgram third =
      scaled(program_with({Recompute{run(1, 1)}, Swap{run(3, 3)}, Swap{run(0, 0)}}), 1.0, {0, 1, 3});
  const std::vector<Bytes> freed = freed_by_steps(third);
  CHECK(std::ranges::all_of(freed, [](Bytes bytes) { return bytes >= Bytes(0); }));
}

}  // namespace stagecraft::stage_program_test
