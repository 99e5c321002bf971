#include "sim/schedule/turn_programs.hpp"

#include "tests/schedule/chains.hpp"
#include "tests/schedule/some_microbatches.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

namespace stagecraft {
namespace {

/// One stage of four layers; layers 1 to 3 have actions that cover 3, 1 and all of 4 microbatches.
Stage four_turns() {
  Stage stage;
  stage.layers = {LayerId(0), LayerId(1), LayerId(2), LayerId(3)};
  stage.replicas = {DeviceId(0)};
  stage.memory = {Recompute{{LayerId(1)}, {3, 4}}, Recompute{{LayerId(2)}, {1, 4}}, Recompute{{LayerId(3)}}};
  return stage;
}

TEST_CASE("turn programs: the sets of actions become smaller along a window") {
  const StageTurns turns = stage_turns(four_turns());
  CHECK(turns.set_of == std::vector<std::size_t>{0, 1, 1, 2});
  CHECK(turns.first == std::vector<std::int64_t>{0, 1, 3});
  CHECK(stage_at(four_turns(), 0).memory.size() == 3);
  CHECK(stage_at(four_turns(), 6).memory.size() == 2);
  CHECK(stage_at(four_turns(), 7).memory.size() == 1);
  const StageTurns plain = stage_turns(Stage());
  CHECK(plain.set_of == std::vector<std::size_t>{0});
  CHECK(plain.first == std::vector<std::int64_t>{0});
}

TEST_CASE("turn programs: ranges of microbatches that begin and end apart, and sets that come again") {
  Stage stage = four_turns();
  stage.memory = {Recompute{{LayerId(1)}, {2, 6, 1}}, Recompute{{LayerId(2)}, {2, 6, 4}}};
  const StageTurns turns = stage_turns(stage);
  CHECK(turns.set_of == std::vector<std::size_t>{0, 1, 1, 0, 2, 2});
  CHECK(turns.first == std::vector<std::int64_t>{0, 1, 4});
  CHECK(stage_at(stage, 3).memory.empty());
  CHECK(stage_at(stage, 8).memory == std::vector<MemoryAction>{stage.memory[0]});
  CHECK(stage_at(stage, 11).memory == std::vector<MemoryAction>{stage.memory[1]});
}

TEST_CASE("turn programs: sums over microbatches are those of their programs, one by one") {
  const LayerGraph graph = testing::chain(4, 1.0, 2.0, 10, 100, 5);
  const Platform platform = testing::pairwise(1);
  const Stage stage = four_turns();
  ReplicaTurns turns(graph, platform, stage);
  const TurnPrograms programs = turns.of(DeviceId(0), Share{});
  REQUIRE(programs.different().size() == 3);
  for (std::int64_t local = 0; local < 12; ++local) {
    CAPTURE(local);
    CHECK(programs.of(local) == stage_program(graph, stage_at(stage, local)));
  }
  for (std::int64_t count = 0; count < 12; ++count) {
    CAPTURE(count);
    Seconds time;
    for (std::int64_t local = 0; local < count; ++local) {
      time += programs.of(local).forward + programs.of(local).backward_total();
    }
    CHECK(programs.time(count) == time);
    Bytes most;
    for (std::int64_t begin = 0; begin < 4; ++begin) {
      Bytes sum;
      for (std::int64_t local = begin; local < begin + count; ++local) sum += programs.of(local).stash();
      most = std::max(most, sum);
    }
    CHECK(programs.stashes(count) == most);
  }
  CHECK(programs.mean_backward() * 4.0 == programs.time(4) - programs.forward() * 4.0);
}

}  // namespace
}  // namespace stagecraft
