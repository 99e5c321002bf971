#include "planners/director/dealing.hpp"
#include "planners/director/moves.hpp"
#include "planners/director/node_costs.hpp"
#include "planners/director/node_program.hpp"
#include "planners/director/stage_costs.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "tests/model/topologies.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <vector>

namespace stagecraft::director_program_test {

using namespace stagecraft::testing;
using director::NodeStage;

namespace {

Platform cluster(std::size_t nodes, std::size_t devices) {
  PlatformSpec spec;
  spec.name = "cluster";
  spec.device_kinds.push_back({"A", Bytes(100'000), 1.0, Bytes(0), std::nullopt});
  spec.form = test::nodes_of(nodes, devices, Interconnect{SwitchedNode{}, test::link_of(60)}, SwitchedNetwork{},
                             NicSpec{test::link_of(8), false});
  return build_platform(std::move(spec));
}

LayerGraph random_chain(std::mt19937& random, std::size_t layers) {
  std::vector<double> times;
  for (std::size_t i = 0; i < layers; ++i) times.push_back(1 + random() % 9);
  LayerGraph graph = chain(times);
  graph.microbatch_size = 4;
  for (Layer& layer : graph.layers) {
    layer.parameters = Bytes(1 + random() % 50);
    layer.output = Bytes(1 + random() % 60);
  }
  for (LayerEdge& edge : graph.edges) edge.bytes = graph.layers[edge.from].output;
  return graph;
}

/// The least iteration time of stages in one node, by trying all of them.
class AllStages {
 public:
  explicit AllStages(const director::NodeCosts& costs) : costs_(costs) {}

  double least() {
    extend(0, 0, 0.0, 0.0);
    return least_;
  }

 private:
  void extend(std::size_t begin, std::size_t used, double latency, double time) {
    if (begin == costs_.layers().layers()) {
      least_ = std::min(least_, time);
      return;
    }
    const double transfers = begin == 0 ? 0.0 : 2.0 * costs_.layers().cut_bytes(begin) * costs_.inside();
    for (std::size_t end = begin + 1; end <= costs_.layers().layers(); ++end) {
      for (std::size_t replicas = 1; used + replicas <= costs_.devices(); ++replicas) {
        for (const bool divides : {false, true}) {
          if (divides && (replicas == 1 || replicas > costs_.layers().most_parts())) continue;
          const auto stage = costs_.stage(begin, end, replicas, divides, false, {});
          const double before = latency + transfers;
          extend(end, used + replicas, before + stage.pass, std::max(time, before + stage.load + stage.flush));
        }
      }
    }
  }

  const director::NodeCosts& costs_;
  double least_ = 1e30;
};

void check_cover(const director::Draft& draft, std::size_t layers, const Platform& platform) {
  std::set<DeviceId> used;
  std::size_t begin = 0;
  for (const director::Piece& piece : draft.pieces) {
    CHECK(piece.begin == begin);
    CHECK(piece.end > piece.begin);
    begin = piece.end;
    CHECK_FALSE(piece.devices.empty());
    CHECK(std::ranges::is_sorted(piece.devices));
    for (const DeviceId device : piece.devices) {
      CHECK(device.value() < platform.devices.size());
      CHECK(used.insert(device).second);
    }
    CHECK((!piece.divides || (piece.devices.size() > 1 && piece.devices.size() <= 4)));
  }
  CHECK(begin == layers);
}

}  // namespace

TEST_CASE("node program: in one node it finds the least time of all stages and replicas, within its precision") {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const LayerGraph graph = random_chain(random, 4);
    const Platform platform = cluster(1, 2 + seed % 3);
    const PlanRequest request{graph, platform, {"1f1b", {}}, 6, {}, Options({})};
    const director::StageCosts layers(request);
    const director::NodeCosts costs(request, layers, all_devices(platform));
    const double least = AllStages(costs).least();
    const auto stages = best_node_stages(costs, {}, director::Sharing::Either, Seconds(2.0 * least));
    REQUIRE_FALSE(stages.empty());
    double latency = 0.0;
    double time = 0.0;
    for (const NodeStage& stage : stages) {
      if (stage.begin > 0) latency += 2.0 * layers.cut_bytes(stage.begin) * costs.inside();
      const auto cost = costs.stage(stage.begin, stage.end, stage.replicas, stage.divides, false, {});
      time = std::max(time, latency + cost.load + cost.flush);
      latency += cost.pass;
    }
    CHECK(time >= least * (1.0 - 1e-12));
    CHECK(time <= least * 1.0041);
    CHECK(best_node_stages(costs, {}, director::Sharing::Either, Seconds(0.9 * least)).empty());
  }
}

TEST_CASE("node program: stages cover the layers, segments lie in nodes, and dealt devices are different") {
  int spread = 0;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const LayerGraph graph = random_chain(random, 6);
    const Platform platform = cluster(2 + seed % 2, 2 + seed % 3);
    const PlanRequest request{graph, platform, {"1f1b", {}}, 8, {}, Options({})};
    const director::StageCosts layers(request);
    const director::NodeCosts costs(request, layers, all_devices(platform));
    for (const auto sharing : {director::Sharing::Whole, director::Sharing::Divided}) {
      const auto stages = best_node_stages(costs, {2.0, 1.0}, sharing, Seconds(1e4));
      REQUIRE_FALSE(stages.empty());
      std::size_t segment = 0;
      for (const NodeStage& stage : stages) {
        segment = stage.place == NodeStage::Place::Joins ? segment + stage.replicas : stage.replicas;
        if (stage.place == NodeStage::Place::Spread) ++spread;
        if (stage.place != NodeStage::Place::Spread) CHECK(segment <= costs.node_size());
        CHECK((stage.replicas == 1 || stage.divides == (sharing == director::Sharing::Divided)));
      }
      check_cover({dealt(costs.nodes(), stages), {"1f1b", {}}}, 6, platform);
    }
  }
  CHECK(spread > 0);
}

TEST_CASE("node program: of many layers some cuts are tried, where few bytes cross") {
  std::mt19937 random(3);
  LayerGraph graph = random_chain(random, 3000);
  for (std::size_t i = 0; i < graph.edges.size(); ++i) graph.edges[i].bytes = Bytes(i % 10 == 9 ? 1 : 50);
  const Platform platform = cluster(2, 8);
  const PlanRequest request{graph, platform, {"1f1b", {}}, 8, {}, Options({})};
  const director::StageCosts layers(request);
  const director::NodeCosts costs(request, layers, all_devices(platform));
  const auto stages = best_node_stages(costs, {}, director::Sharing::Whole, Seconds(1e6));
  REQUIRE(stages.size() > 1);
  check_cover({dealt(costs.nodes(), stages), {"1f1b", {}}}, 3000, platform);
  for (const NodeStage& stage : stages) {
    if (stage.begin > 0) CHECK(layers.cut_bytes(stage.begin) == 1.0);
  }
}

TEST_CASE("dealing: segments go whole into the tightest node, and the rest to spread stages") {
  using Place = NodeStage::Place;
  const std::vector<std::vector<DeviceId>> nodes = {{DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3)},
                                                    {DeviceId(4), DeviceId(5), DeviceId(6)}};
  const auto pieces = director::dealt(nodes, {{0, 1, 1, false, Place::Begins},
                                              {1, 2, 3, true, Place::Spread},
                                              {2, 3, 1, false, Place::Begins},
                                              {3, 4, 2, false, Place::Joins}});
  CHECK(pieces[2].devices == std::vector{DeviceId(4)});
  CHECK(pieces[3].devices == std::vector{DeviceId(5), DeviceId(6)});
  CHECK(pieces[0].devices == std::vector{DeviceId(0)});
  CHECK(pieces[1].devices == std::vector{DeviceId(1), DeviceId(2), DeviceId(3)});
}

TEST_CASE("moves: of drafts with other names only the first one is tried") {
  const std::vector<NodeRuns> runs = {{{2, 2}, false, {0, 1}}, {{2, 2}, true, {0, 1}}, {{1, 1}, false, {0, 0}}};
  const auto of = [](std::vector<std::vector<std::uint32_t>> devices) {
    director::Draft draft{{}, {"1f1b", {}}};
    for (std::size_t i = 0; i < devices.size(); ++i) {
      std::vector<DeviceId> ids(devices[i].begin(), devices[i].end());
      draft.pieces.push_back({i, i + 1, std::move(ids), false});
    }
    return draft;
  };
  const auto named = [&](std::vector<std::vector<std::uint32_t>> devices) {
    return director::with_first_names(of(std::move(devices)), runs).pieces;
  };
  CHECK(named({{7}, {4, 5}}) == of({{0}, {2, 3}}).pieces);
  CHECK(named({{2, 5}, {6, 8}}) == of({{0, 4}, {2, 8}}).pieces);
  CHECK(named({{9}, {8}}) == of({{9}, {8}}).pieces);
}

TEST_CASE("moves: a changed draft covers the layers, on different devices") {
  std::mt19937 chains(7);
  const LayerGraph graph = random_chain(chains, 9);
  const Platform platform = cluster(2, 4);
  const PlanRequest request{graph, platform, {"1f1b", {}}, 8, {}, Options({})};
  const director::StageCosts costs(request);
  const std::vector<std::vector<DeviceId>> nodes = nodes_of(platform);
  const std::vector<NodeRuns> runs = alike_devices(platform);
  const director::MoveSpace space{costs, nodes, runs, {{"1f1b", {}}, {"gpipe", {}}}, {std::nullopt, kUsualBucket}};
  director::Random random(1);
  director::Draft draft{{{0, 9, {DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3), DeviceId(4)}, false}},
                        {"1f1b", {}}};
  std::set<std::size_t> numbers;
  int changed = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto next = moved(draft, space, random);
    if (!next) continue;
    ++changed;
    check_cover(*next, 9, platform);
    numbers.insert(next->pieces.size());
    draft = *next;
    if (i % 100 == 0) {
      for (const director::Draft& neighbour : neighbours(draft, space)) check_cover(neighbour, 9, platform);
    }
  }
  CHECK(changed > 2000);
  CHECK(numbers.size() >= 5);  // from one stage to many
}

}  // namespace stagecraft::director_program_test
