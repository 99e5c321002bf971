#include "planners/registry.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/cuts/balanced_cuts.hpp"
#include "planners/shared/savings/stage_devices.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <random>
#include <vector>

namespace stagecraft::equal_cuts_test {

using namespace stagecraft::testing;

namespace {

std::vector<std::size_t> sizes(const Plan& plan) {
  std::vector<std::size_t> counts;
  for (const Stage& stage : plan.stages) counts.push_back(stage.layers.size());
  return counts;
}

double iteration(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  return evaluate_plan(graph, platform, plan).iterations.back().value();
}

PlanRequest request_of(const LayerGraph& graph, const Platform& platform, std::int64_t microbatches) {
  const PlannerInfo& uniform = find_planner("uniform");
  PlanRequest request{graph, platform, {"1f1b", {}}, microbatches, {}, parse_options(uniform, {{"replicas", "1"}})};
  request.memory = MemoryPolicy::Keep;
  return request;
}

LayerGraph free_chain(const std::vector<double>& times) {
  LayerGraph graph = chain(times);
  for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(0);
  return graph;
}

/// Calls `visit` with the plan of every cut into as many stages as `plan` has.
template <class Visit>
void for_each_cut(Plan& plan, std::size_t stage, std::size_t begin, std::size_t layers, const Visit& visit) {
  std::vector<LayerId>& own = plan.stages[stage].layers;
  own.clear();
  const std::size_t behind = plan.stages.size() - 1 - stage;
  for (std::size_t end = begin + 1; end + behind <= layers; ++end) {
    own.emplace_back(end - 1);
    if (behind > 0) {
      for_each_cut(plan, stage + 1, end, layers, visit);
    } else if (end == layers) {
      visit();
    }
  }
}

/// The stages whose largest is as small as possible, the last ones the smallest.
std::vector<Stage> balanced_stages(const LayerGraph& graph, const Platform& platform, std::size_t devices) {
  BalancedCuts table = stage_cuts(graph, false);
  return placed_stages(graph, platform, straight_placement(devices, Options(std::map<std::string, OptionValue>())),
                       device_runs(devices, 1), table);
}

}  // namespace

TEST_CASE("equal cuts: of cuts with the same largest stage the one with slow stages first") {
  // Nine layers of 1 s and 2 s in four stages, 8 microbatches. From the first forward to the last backward, stage s
  // with k layers takes 27 s and 7 · 2 k + (8 - (4 - s)) k. In [3 3 2 1] stage 1 takes 27 + 42 + 15 = 84 s; in [3 2 2
  // 2] stage 0 takes 27 + 42 + 12 = 81 s, and stage 3 27 + 28 + 14 = 69 s.
  const LayerGraph graph = free_chain(std::vector<double>(9, 1.0));
  CHECK(BalancedCuts({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}).cuts({1, 1, 1, 1}) == std::vector<std::size_t>{0, 3, 6, 8});
  const Platform platform = flat_platform(4);
  const PlanResult result = find_planner("uniform").plan(request_of(graph, platform, 8));
  REQUIRE(std::holds_alternative<Planned>(result));
  const Plan& plan = std::get<Planned>(result).plan;
  CHECK(sizes(plan) == std::vector<std::size_t>{3, 2, 2, 2});
  CHECK(iteration(graph, platform, plan) == doctest::Approx(81.0).epsilon(1e-12));
}

TEST_CASE("equal cuts: a cut that does not fit has its large stages last") {
  // Weights, gradients and optimizer state of a layer take 400 B, its stash 10 B for each microbatch in flight. Three
  // layers take 1200 + 30 B on the last stage, 1200 + 60 B on the one before. So only [2 2 2 3] fits in 1250 B:
  // 27 + 42 + 21 = 90 s.
  const LayerGraph graph = free_chain(std::vector<double>(9, 1.0));
  const Platform platform = flat_platform(4, 100.0, Bytes(1250));
  const PlanResult result = find_planner("uniform").plan(request_of(graph, platform, 8));
  REQUIRE(std::holds_alternative<Planned>(result));
  const Plan& plan = std::get<Planned>(result).plan;
  CHECK(sizes(plan) == std::vector<std::size_t>{2, 2, 2, 3});
  CHECK(iteration(graph, platform, plan) == doctest::Approx(90.0).epsilon(1e-12));
  const PlanResult none = find_planner("uniform").plan(request_of(graph, flat_platform(4, 100.0, Bytes(1229)), 8));
  REQUIRE(std::holds_alternative<Infeasible>(none));
  CHECK(std::get<Infeasible>(none).smallest_memory == Bytes(1230));
}

TEST_CASE(
    "equal cuts: on random chains nearly always the fastest with the same largest stage, and one that fits is found") {
  std::size_t faster = 0;
  std::size_t saved = 0;
  std::size_t worse = 0;  // paths that turn at several stages are not counted by the planner
  for (unsigned seed = 1; seed <= 80; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::vector<double> times(5 + random() % 7);
    for (double& time : times) time = static_cast<double>(1 + random() % 3);
    const LayerGraph graph = free_chain(times);
    const std::size_t devices = 2 + random() % 4;
    const Bytes memory(1000 + static_cast<std::int64_t>(random() % 1500));
    const Platform platform = flat_platform(devices, 100.0, memory);
    const auto microbatches = static_cast<std::int64_t>(2 + random() % 12);
    const PlanRequest request = request_of(graph, platform, microbatches);
    const PlanResult result = find_planner("uniform").plan(request);

    Plan plan = empty_plan(find_planner("uniform"), request);
    plan.stages = balanced_stages(graph, platform, devices);
    const Plan usual = plan;
    const Seconds largest = largest_times(graph, platform, plan).stage * (1 + 1e-9);
    std::optional<double> best;
    for_each_cut(plan, 0, 0, times.size(), [&] {
      if (largest_times(graph, platform, plan).stage > largest) return;
      if (!std::holds_alternative<Planned>(judged(request, {plan, {}}))) return;
      const double time = iteration(graph, platform, plan);
      if (!best || time < *best) best = time;
    });
    const bool usual_fits = std::holds_alternative<Planned>(judged(request, {usual, {}}));
    CHECK(std::holds_alternative<Planned>(result) == best.has_value());
    if (!best) continue;
    const Plan& chosen = std::get<Planned>(result).plan;
    const double time = iteration(graph, platform, chosen);
    CHECK(time <= 1.02 * *best);
    if (time > *best * (1 + 1e-9)) ++worse;
    if (!usual_fits) ++saved;
    if (usual_fits && *best < iteration(graph, platform, usual) * (1 - 1e-9)) ++faster;
  }
  CHECK(faster > 5);
  CHECK(saved > 5);
  CHECK(worse < 4);
}

TEST_CASE("equal cuts: with transfers no plan is slower than the cut with the smallest last stages") {
  std::size_t faster = 0;
  for (unsigned seed = 1; seed <= 80; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::vector<double> times(6 + random() % 10);
    for (double& time : times) time = static_cast<double>(1 + random() % 2);
    LayerGraph graph = chain(times);
    for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(static_cast<std::int64_t>(random() % 50));
    const std::size_t devices = 2 + random() % 5;
    const Platform platform = flat_platform(devices);
    const PlanRequest request = request_of(graph, platform, 10);
    const PlanResult result = find_planner("uniform").plan(request);
    REQUIRE(std::holds_alternative<Planned>(result));
    Plan usual = empty_plan(find_planner("uniform"), request);
    usual.stages = balanced_stages(graph, platform, devices);
    const double before = iteration(graph, platform, usual);
    const double now = iteration(graph, platform, std::get<Planned>(result).plan);
    CHECK(now <= before * (1 + 1e-12));
    if (now < before * (1 - 1e-9)) ++faster;
  }
  CHECK(faster > 5);
}

}  // namespace stagecraft::equal_cuts_test
