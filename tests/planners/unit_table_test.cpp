// What is found once for a network is what is found anew for each of its stages.
#include "planners/shared/savings/unit_table.hpp"

#include "planners/shared/savings/layer_likeness.hpp"
#include "tests/planners/saving_fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace stagecraft {
namespace {

using Run = UnitTable::Run;

constexpr std::size_t kLayers = 14;

std::vector<LayerId> file_order(const LayerGraph& graph) {
  std::vector<LayerId> order;
  for (const LayerId layer : indices(graph.layers)) order.push_back(layer);
  return order;
}

std::vector<std::size_t> random_bounds(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::size_t> bounds{0};
  while (bounds.back() < kLayers) bounds.push_back(std::min(kLayers, bounds.back() + 1 + random() % 3));
  return bounds;
}

/// The layers of the units, or the parts of them that the stage has.
std::vector<Run> parts(const std::vector<std::size_t>& bounds, const Run& stage) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    const Run part{std::max(bounds[i], stage.begin), std::min(bounds[i + 1], stage.end)};
    if (part.begin < part.end) runs.push_back(part);
  }
  return runs;
}

/// The runs that end before `end` and begin at `begin` or later, each from `StageUnits` alone.
std::vector<SavingUnit> segments_anew(const StageUnits& units, const std::vector<Run>& runs, const Run& stage,
                                      std::size_t begin, std::size_t end) {
  std::vector<std::size_t> begins;
  for (std::size_t i = end; i-- > begin;) begins.push_back(runs[i].begin);
  std::vector<SavingUnit> segments;
  for (const StageUnits::RunUnit& run : units.units_before(runs[end - 1].end, begins, stage)) {
    segments.push_back(run.inner);
  }
  return segments;
}

template <class Visit>
void for_stages(const Visit& visit) {
  for (std::size_t begin = 0; begin < kLayers; ++begin) {
    for (std::size_t end = begin + 1; end <= kLayers; ++end) visit(Run{begin, end});
  }
}

TEST_CASE("unit table: units and segments of every stage are those found anew") {
  for (unsigned seed = 0; seed < testing::random_cases(200U); ++seed) {
    const LayerGraph graph = testing::varied_graph(seed, kLayers);
    const std::vector<std::size_t> bounds = random_bounds(seed);
    const StageUnits anew(graph, file_order(graph));
    UnitTable table(graph, file_order(graph), bounds);
    for_stages([&](const Run& stage) {
      const std::vector<Run> runs = parts(bounds, stage);
      const std::vector<SavingUnit> units = table.units(stage);
      REQUIRE(units.size() == runs.size());
      for (std::size_t i = 0; i < runs.size(); ++i) {
        CHECK(units[i] == anew.unit(runs[i], stage));
        CHECK(table.layers(stage, i).begin == runs[i].begin);
        CHECK(table.layers(stage, i).end == runs[i].end);
        const std::size_t begin = seed % (i + 1);
        CHECK(table.segments(stage, begin, i + 1) == segments_anew(anew, runs, stage, begin, i + 1));
      }
    });
  }
}

TEST_CASE("unit table: a run that a stage begins with is that of a stage from there on") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const LayerGraph graph = testing::varied_graph(seed, kLayers);
    const StageUnits units(graph, file_order(graph));
    for_stages([&](const Run& run) {
      const auto found = units.units_before(run.end, {run.end - 1, run.begin}, {0, kLayers});
      const auto first = units.units_before(run.end, {run.end - 1, run.begin}, {run.begin, kLayers});
      CHECK(found.back().first == first.back().inner);
    });
  }
}

/// A block's layers four times: each reads what the block before makes and what layer 0 makes, and keeps its own.
LayerGraph equal_blocks() {
  LayerGraph graph = testing::chain(std::vector<double>(9, 1.0));
  graph.tensors = {{LayerId(0), Bytes(7)}};
  for (std::uint32_t block = 0; block < 4; ++block) {
    const LayerId first(2 * block + 1);
    const LayerId second(2 * block + 2);
    graph.tensors.push_back({first, Bytes(5)});
    graph.layers[first].reads = {0};
    graph.layers[first].stash = Bytes(20);
    graph.layers[first].keeps = {block + 1};
    graph.layers[second].reads = {0, block + 1};
  }
  return graph;
}

TEST_CASE("unit table: equal blocks are alike, and what is alike has equal units and segments") {
  const LayerGraph blocks = equal_blocks();
  UnitTable table(blocks, file_order(blocks), {0, 1, 3, 5, 7, 9});
  CHECK(std::ranges::equal(table.likeness({3, 7}), table.likeness({5, 9})));
  CHECK(!std::ranges::equal(table.likeness({3, 7}), table.likeness({4, 8})));
  std::size_t alike = 0;
  for (unsigned seed = 0; seed < testing::random_cases(100U); ++seed) {
    const LayerGraph graph = seed == 0 ? blocks : testing::varied_graph(seed, kLayers);
    const std::size_t layers = graph.layers.size();
    UnitTable units(graph, file_order(graph),
                    seed == 0 ? std::vector<std::size_t>{0, 1, 3, 5, 7, 9} : random_bounds(seed));
    for (std::size_t length = 1; length < layers; ++length) {
      for (std::size_t one = 0; one + length <= layers; ++one) {
        for (std::size_t other = one + 1; other + length <= layers; ++other) {
          const Run a{one, one + length};
          const Run b{other, other + length};
          if (!std::ranges::equal(units.likeness(a), units.likeness(b))) continue;
          ++alike;
          const std::size_t count = units.units(a).size();
          CHECK(units.units(a) == units.units(b));
          CHECK(units.segments(a, 0, count) == units.segments(b, 0, count));
        }
      }
    }
  }
  CHECK(alike > 10);
}

}  // namespace
}  // namespace stagecraft
