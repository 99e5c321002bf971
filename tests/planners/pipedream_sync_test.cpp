#include "planners/registry.hpp"
#include "planners/shared/costs/evaluated_claim.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/schedule/compiled.hpp"

#include <doctest/doctest.h>

#include <random>

namespace stagecraft::pipedream_sync_test {

using namespace stagecraft::testing;

namespace {

const PlannerInfo& planner() { return as_in_paper("pipedream-sync"); }

PlanResult run_with(const PlannerInfo& info, const std::string& schedule, const LayerGraph& graph,
                    const Platform& platform) {
  return info.plan({graph, platform, {schedule, {}}, 8, {}, parse_options(info, {})});
}

}  // namespace

TEST_CASE("pipedream-sync: stages and replicas are those of pipedream on 100 random chains, run as 1f1b") {
  std::mt19937 random(3);
  int replicated = 0;
  int several = 0;
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    std::vector<double> times(2 + random() % 5);
    for (double& time : times) time = static_cast<double>(1 + random() % 9);
    LayerGraph graph = chain(times);
    for (Layer& layer : graph.layers) layer.parameters = Bytes(static_cast<std::int64_t>(1 + random() % 900));
    const Platform platform = flat_platform(1 + random() % 4, 100.0);
    const Planned flushed = std::get<Planned>(run_planner(planner(), graph, platform));
    const Planned other = std::get<Planned>(run_with(find_planner("pipedream"), "1f1b", graph, platform));
    CHECK(flushed.plan.planner == "pipedream-sync");
    CHECK(flushed.plan.schedule.name == "1f1b");
    CHECK(flushed.plan.stages == other.plan.stages);
    Detail::Record details = other.details;
    details.emplace_back("pipelines", 1);
    CHECK(flushed.details == details);
    for (const Stage& stage : flushed.plan.stages) replicated += stage.replicas.size() > 1 ? 1 : 0;
    several += flushed.plan.stages.size() > 1 ? 1 : 0;
  }
  CHECK(replicated > 10);
  CHECK(several > 10);
}

TEST_CASE("pipedream-sync: one version of the weights where pipedream keeps several") {
  const LayerGraph graph = chain({1, 1, 1});
  const Platform platform = flat_platform(3, 1000.0);
  const std::vector<std::pair<std::string, std::string>> straight = {{"straight", "true"}};
  const Plan flushed = std::get<Planned>(run_planner(planner(), graph, platform, straight)).plan;
  const Plan stashing = std::get<Planned>(run_planner(find_planner("pipedream"), graph, platform, straight)).plan;
  REQUIRE(flushed.stages.size() == 3);
  CHECK(testing::compiled(flushed).weight_versions[0] == 1);
  CHECK(testing::compiled(stashing).weight_versions[0] == 3);
  CHECK(testing::compiled(flushed).in_flight[0] == 3);
  // (8 + 3 - 1) · 3 s is the claim; the run has transfers of 0.01 s besides.
  CHECK(flushed.predicted.iteration_time->value() == doctest::Approx(30.0).epsilon(1e-12));
  const double run = evaluate_plan(graph, platform, flushed).iterations.back().value();
  CHECK(run > 30.0);
  CHECK(run < 30.5);
}

TEST_CASE("pipedream-sync: its claim synchronises once in an iteration, as the run does") {
  // One layer of 1 s + 2 s and 100 B on two devices at 10 B/s. Each replica runs four of the eight microbatches, and
  // the ring takes 2 (2 - 1) / 2 · 100 / 10 = 10 s: 4 · 3 + 10 = 22 s. PipeDream's formula would have 20 s for it.
  const LayerGraph graph = chain({1});
  const Platform platform = flat_platform(2, 10.0);
  const Planned found = std::get<Planned>(run_planner(planner(), graph, platform));
  REQUIRE(found.plan.stages.size() == 1);
  CHECK(found.plan.predicted.iteration_time->value() == doctest::Approx(22.0).epsilon(1e-12));
  CHECK(evaluate_plan(graph, platform, found.plan).iterations.back().value() == doctest::Approx(22.0).epsilon(1e-9));
}

TEST_CASE("pipedream-sync: its claim has only what the exchange of buckets lasts beyond the backward") {
  // Two layers of 1 s + 2 s and 100 B on two devices at 10 B/s, as one stage, because its output is large. Each replica
  // runs four of the eight microbatches in 6 s each. Two buckets take 10 s each; the first one is complete 2 s before
  // the last backward ends: 24 + 18 s.
  LayerGraph graph = chain({1, 1});
  for (Layer& layer : graph.layers) layer.output = Bytes(100'000);
  graph.edges.front().bytes = Bytes(100'000);
  const Platform platform = flat_platform(2, 10.0);
  Training training;
  training.gradient_bucket = Bytes(100);
  const Planned found = std::get<Planned>(run_planner(planner(), graph, platform, {}, 8, training));
  REQUIRE(found.plan.stages.size() == 1);
  CHECK(found.plan.predicted.iteration_time->value() == doctest::Approx(42.0).epsilon(1e-12));
  CHECK(evaluate_plan(graph, platform, found.plan).iterations.back().value() == doctest::Approx(42.0).epsilon(1e-9));
}

TEST_CASE("pipedream-sync: a schedule that never flushes is refused") {
  CHECK_THROWS_AS((void)run_with(planner(), "pipedream", chain({1}), flat_platform(2)), InputError);
}

TEST_CASE("pipedream-sync: replicas of neighbours whose turns do not divide are claimed as they run, or avoided") {
  // Six layers of 3 s or 5 s and twice that, one for each stage, on 24 devices. With 3, 5, 3, 5, 3 and 5 replicas every
  // stage runs a microbatch in 3 s. But a microbatch is under way for 72 s, so the 8 · 3
  // microbatches in flight on stage 0 leave no slack, and a replica that waits for its turn loses it for good. With
  // four replicas everywhere the slowest stage takes 15 / 4 s: 60 · 15 s and 5 · 15 s more for the other stages at
  // most.
  LayerGraph graph = chain({3, 5, 3, 5, 3, 5});
  for (Layer& layer : graph.layers) layer.parameters = Bytes(1000);
  for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(0);
  const Platform platform = flat_platform(24, 1e12, Bytes(6000));
  const Planned found = std::get<Planned>(run_planner(planner(), graph, platform, {}, 240));
  const double run = evaluate_plan(graph, platform, found.plan).iterations.back().value();
  CHECK(found.plan.predicted.iteration_time->value() == doctest::Approx(run).epsilon(0.05));
  CHECK(run <= 975.0 + 1e-6);
}

TEST_CASE("pipedream-sync: on random chains the claim is never far below the run") {
  std::mt19937 random(4);
  int uneven = 0;
  int replaced = 0;
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    std::vector<double> times(3 + random() % 4);
    for (double& time : times) time = static_cast<double>(1 + random() % 9);
    LayerGraph graph = chain(times);
    for (Layer& layer : graph.layers) layer.parameters = Bytes(1000);
    for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(0);
    const Platform platform = flat_platform(6 + random() % 12, 1e12, Bytes(6000));
    const PlanResult result = run_planner(planner(), graph, platform, {}, 60);
    if (std::holds_alternative<Infeasible>(result)) continue;
    const Plan& plan = std::get<Planned>(result).plan;
    const PlannerInfo& pipedream = find_planner("pipedream");
    const PlanRequest request{graph, platform, {"1f1b", {}}, 60, {}, parse_options(pipedream, {})};
    const Planned other = std::get<Planned>(pipedream.plan(request));
    uneven += is_claim_evaluated(other.plan) ? 1 : 0;
    replaced += other.plan.stages != plan.stages ? 1 : 0;
    const double run = evaluate_plan(graph, platform, plan).iterations.back().value();
    CHECK(plan.predicted.iteration_time->value() >= 0.95 * run);
    CHECK(run <= evaluate_plan(graph, platform, other.plan).iterations.back().value() * (1 + 1e-9));
  }
  CHECK(uneven > 10);
  CHECK(replaced > 2);
}

}  // namespace stagecraft::pipedream_sync_test
