// The loops of a pipeline in the order of 1F1B: the formula, what planners claim by it, and cuts that are chosen for
// it.
#include "planners/shared/costs/loop_time.hpp"

#include "planners/dawnpiper/cut_waits.hpp"
#include "planners/planner.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/boundaries.hpp"
#include "tests/planners/dawnpiper_cases.hpp"
#include "tests/planners/saving_fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft::loop_time_test {

using namespace stagecraft::testing;

namespace {

/// A chain of layers with tensors that take about as long as a layer on a link of 10 bytes per second.
LayerGraph chain_with_wide_tensors(unsigned seed, std::size_t layers) {
  std::mt19937 random(seed);
  LayerGraph graph = varied_chain(seed, layers);
  for (LayerEdge& edge : graph.edges) {
    edge.bytes = Bytes(static_cast<std::int64_t>(random() % 40));
    graph.layers[edge.from].output = edge.bytes;
  }
  return graph;
}

}  // namespace

TEST_CASE("loop time: equal stages hide no transfer, and shorter ones hide theirs") {
  const auto time = [](const std::vector<double>& compute, const std::vector<double>& transfers,
                       std::vector<std::int64_t> in_flight = {}) {
    std::vector<LoopStage> stages;
    std::vector<LoopBoundary> boundaries;
    for (std::size_t s = 0; s < compute.size(); ++s) {
      if (in_flight.size() == s) in_flight.push_back(static_cast<std::int64_t>(compute.size() - s));
      stages.push_back({Seconds(compute[s] / 4), Seconds(compute[s] * 3 / 4), in_flight[s]});
      if (s < transfers.size()) boundaries.push_back({s, s + 1, Seconds(transfers[s])});
    }
    return loop_time(stages, boundaries).value();
  };
  CHECK(time({3}, {}) == 3);
  CHECK(time({3, 3}, {1}) == 4);  // (3 + 1 + 1 + 3) / 2
  CHECK(time({3, 3, 3}, {1, 1}) == doctest::Approx(13.0 / 3.0));
  CHECK(time({3, 1}, {1}) == 3);  // (3 + 1 + 1 + 1) / 2 = 3
  CHECK(time({1, 9, 1}, {2, 3}) == 9);
  // With two more microbatches in flight than the next stage both transfers fit.
  CHECK(time({3, 3}, {1}, {3, 1}) == 3);
  // A flush with as many in flight everywhere is no such loop.
  CHECK(time({3, 3}, {1}, {8, 8}) == 3);
}

// A tensor that skips the second stage is on its way while that stage computes.
TEST_CASE("loop time: a tensor that skips stages is sent once, beside them") {
  const std::vector<LoopStage> stages = {
      {Seconds(1), Seconds(2), 3}, {Seconds(1), Seconds(2), 2}, {Seconds(1), Seconds(2), 1}};
  const auto time = [&](std::vector<LoopBoundary> boundaries) { return loop_time(stages, boundaries).value(); };
  CHECK(time({{0, 1, Seconds(0)}, {1, 2, Seconds(0)}, {0, 2, Seconds(1)}}) == 3);
  CHECK(time({{0, 1, Seconds(0)}, {1, 2, Seconds(0)}, {0, 2, Seconds(4)}}) == doctest::Approx((3 + 4 + 4 + 3) / 3.0));
  // 2.5 s are longer than the way over the second stage's forward, and shorter than that over its backward.
  CHECK(time({{0, 1, Seconds(0.6)}, {1, 2, Seconds(0.6)}, {0, 2, Seconds(2.5)}}) ==
        doctest::Approx(((1 + 2.5 + 1) + (2 + 0.6 + 2 + 0.6 + 2)) / 3.0));
  // What nothing leads to waits for nothing.
  CHECK(time({{0, 1, Seconds(0)}}) == 3);
}

TEST_CASE("waited bytes: a tensor counts at each cut that it crosses with its part of the way to the next layer") {
  LayerGraph graph;
  for (int i = 0; i < 8; ++i) {
    Layer layer;
    layer.forward = Seconds(1);
    layer.backward = Seconds(2);
    graph.layers.push_back(layer);
    if (i > 0) graph.edges.push_back({LayerId(i - 1), LayerId(i), Bytes(12)});
  }
  const std::vector<LayerId> order = canonical_order(graph);
  const auto waited = [&](std::size_t stages) {
    std::vector<std::int64_t> bytes;
    for (const Bytes each : waited_bytes(graph, order, stages)) bytes.push_back(each.value());
    return bytes;
  };
  const std::vector<std::int64_t> chain = {0, 12, 12, 12, 12, 12, 12, 12, 0};
  CHECK(waited(4) == chain);
  graph.edges.push_back({LayerId(0), LayerId(7), Bytes(600)});  // over six layers: three stages of two
  CHECK(waited(4) == std::vector<std::int64_t>{0, 600, 212, 212, 212, 212, 212, 212, 0});
  CHECK(waited(2) == std::vector<std::int64_t>{0, 600, 412, 412, 412, 412, 412, 412, 0});
  graph.edges.back().to = LayerId(4);  // over three layers: one and a half stages
  CHECK(waited(4) == std::vector<std::int64_t>{0, 600, 412, 412, 412, 12, 12, 12, 0});
}

TEST_CASE("loop time: the claimed period is the evaluated one where transfers are slow") {
  int waiting = 0;
  const unsigned cases = random_cases(200U);
  for (unsigned seed = 1; seed <= cases; ++seed) {
    CAPTURE(seed);
    const LayerGraph graph = chain_with_wide_tensors(seed, 12);
    const Platform platform = flat_platform(4, 10.0);
    for (const std::string name : {"dawnpiper", "vpipe"}) {
      CAPTURE(name);
      const PlannerInfo& planner = find_planner(name);
      const PlanResult result = planner.plan(request_for(planner, graph, platform, "pipedream", 400));
      const auto& planned = std::get<Planned>(result);
      const double claimed = planned.plan.predicted.period->value();
      const double evaluated = evaluate_plan(graph, platform, planned.plan).period->value();
      CHECK(claimed == doctest::Approx(evaluated).epsilon(1e-3));
      double slowest = 0.0;
      for (const Stage& stage : planned.plan.stages) {
        slowest = std::max(slowest, stage_time(graph, platform, stage).total().value());
      }
      if (claimed > slowest * 1.01) ++waiting;
    }
  }
  CHECK(waiting > static_cast<int>(cases / 2));
}

TEST_CASE("loop time: the claimed period is the evaluated one where slow tensors skip stages") {
  int skipping = 0;
  const unsigned cases = random_cases(200U);
  for (unsigned seed = 1; seed <= cases; ++seed) {
    CAPTURE(seed);
    LayerGraph graph = chain_with_wide_tensors(seed, 12);
    std::mt19937 random(seed + 1000);
    for (int i = 0; i < 3; ++i) {
      const std::size_t from = random() % 9;
      const std::size_t to = from + 2 + random() % (10 - from);
      const Bytes bytes = graph.layers[LayerId(from)].output;  // the tensor that the next layer reads too
      const LayerEdge edge{LayerId(from), LayerId(to), bytes};
      if (std::ranges::find(graph.edges, edge) == graph.edges.end()) graph.edges.push_back(edge);
    }
    const Platform platform = flat_platform(4, 10.0);
    for (const std::string name : {"dawnpiper", "vpipe"}) {
      CAPTURE(name);
      const PlannerInfo& planner = find_planner(name);
      PlanRequest request = request_for(planner, graph, platform, "pipedream", 400);
      if (name == "vpipe") request.options = parse_options(planner, {{"granularity", "layers"}});
      const PlanResult result = planner.plan(request);
      const Plan& plan = std::get<Planned>(result).plan;
      CHECK(plan.predicted.period->value() ==
            doctest::Approx(evaluate_plan(graph, platform, plan).period->value()).epsilon(1e-3));
      for (const Boundary& boundary : boundaries(graph, plan)) {
        if (boundary.to.value() > boundary.from.value() + 1) ++skipping;
      }
    }
  }
  CHECK(skipping > static_cast<int>(cases));
}

TEST_CASE("loop time: with all cuts tried, dawnpiper finds the stages that are shortest with what they wait for") {
  std::mt19937 random(11);
  const int cases = random_cases(300);
  int moved = 0;
  for (int i = 0; i < cases; ++i) {
    CAPTURE(i);
    UnitPipeline pipeline;
    pipeline.stages = 3;
    pipeline.capacity = 1'000'000;
    std::vector<Seconds> transfers(10);
    for (std::size_t unit = 0; unit < 9; ++unit) {
      const auto forward = static_cast<double>(1 + random() % 4);
      pipeline.units.push_back({forward, 2 * forward, 1, 4, 1});
      transfers[unit] = Seconds(static_cast<double>(random() % 6));
    }
    dawnpiper::PartitionProblem problem = pipeline.problem();
    problem.transfer = [&](std::size_t cut, std::size_t) { return transfers[cut]; };
    const auto time = [&](std::size_t first, std::size_t second, bool waits) {
      const Seconds before = waits ? transfers[first] : Seconds(0);
      const Seconds behind = waits ? transfers[second] : Seconds(0);
      const std::vector<Seconds>& sums = problem.compute;
      return std::max({sums[first] - sums[0] + before, sums[second] - sums[first] + before + behind,
                       sums[9] - sums[second] + behind});
    };
    Seconds least = time(1, 2, true);
    Seconds balanced = time(1, 2, false);
    for (std::size_t first = 1; first < 8; ++first) {
      for (std::size_t second = first + 1; second < 9; ++second) {
        least = std::min(least, time(first, second, true));
        balanced = std::min(balanced, time(first, second, false));
      }
    }
    const auto found = dawnpiper::PartitionSearch(problem, {.margin = 10}).run();
    REQUIRE(found.has_value());
    CHECK(found->time == least);
    if (time(found->cuts[1], found->cuts[2], false) > balanced) ++moved;
  }
  CHECK(moved > cases / 20);  // away from the most even computation
}

}  // namespace stagecraft::loop_time_test
