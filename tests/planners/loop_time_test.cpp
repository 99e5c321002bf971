// The loops of a pipeline in the order of 1F1B: the formula, what planners claim by it, and cuts that are chosen for it.
#include "planners/shared/loop_time.hpp"

#include "planners/planner.hpp"
#include "planners/shared/cost_model.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "tests/planners/dawnpiper_cases.hpp"
#include "tests/planners/saving_fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
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
  const auto stages = [](std::vector<double> compute, std::vector<double> transfers) {
    std::vector<LoopStage> loop;
    for (std::size_t s = 0; s < compute.size(); ++s) {
      const auto in_flight = static_cast<std::int64_t>(compute.size() - s);
      loop.push_back({Seconds(compute[s]), in_flight, Seconds(s < transfers.size() ? transfers[s] : 0.0)});
    }
    return loop;
  };
  CHECK(loop_time(stages({3}, {})) == Seconds(3));
  CHECK(loop_time(stages({3, 3}, {1})) == Seconds(4));  // (3 + 1 + 1 + 3) / 2
  CHECK(loop_time(stages({3, 3, 3}, {1, 1})).value() == doctest::Approx(13.0 / 3.0));
  CHECK(loop_time(stages({3, 1}, {1})) == Seconds(3));  // (3 + 1 + 1 + 1) / 2 = 3
  CHECK(loop_time(stages({1, 9, 1}, {2, 3})) == Seconds(9));
  // With two more microbatches in flight than the next stage both transfers fit.
  std::vector<LoopStage> eager = stages({3, 3}, {1});
  eager[0].in_flight = 3;
  CHECK(loop_time(eager) == Seconds(3));
  // A flush with as many in flight everywhere is no such loop.
  eager[0].in_flight = eager[1].in_flight = 8;
  CHECK(loop_time(eager) == Seconds(3));
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
