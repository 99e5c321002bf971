#include "planners/registry.hpp"
#include "planners/shared/cost_model.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/planners/pipedream_evaluator.hpp"
#include "tests/planners/pipedream_oracle.hpp"
#include "tests/schedule/compiled.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

/// What `pipedream` does to need less memory: recomputation, two weight versions, a cap on microbatches in flight.
namespace stagecraft::pipedream_memory_test {

using namespace stagecraft::testing;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using GivenOptions = std::vector<std::pair<std::string, std::string>>;

const PlannerInfo& planner() { return find_planner("pipedream"); }

LayerGraph chain_with_checkpoints(unsigned seed, std::size_t layers) {
  LayerGraph graph = random_chain(seed, layers);
  for (Layer& layer : graph.layers) layer.checkpoint = Bytes(layer.stash.value() / 3);
  return graph;
}

/// The least period of all pipelines that fit. The forward counts twice where it is recomputed.
double best_fitting(LayerGraph graph, const Platform& platform, const JudgedMemory& memory) {
  const LayerGraph given = graph;
  if (memory.recompute) {
    for (Layer& layer : graph.layers) layer.backward += layer.forward;
  }
  double best = kInfinity;
  for (const auto& stages : all_pipelines(graph, levels(platform), false)) {
    if (!fits_ledger(given, platform, stages, planner().default_schedule, 8, memory)) continue;
    best = std::min(best, judge(graph, levels(platform), {}, stages));
  }
  return best;
}

}  // namespace

TEST_CASE(
    "pipedream memory: with recomputation or two weight versions it gives the best pipeline that fits, on chains") {
  std::size_t feasible = 0;
  std::size_t infeasible = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    const LayerGraph graph = chain_with_checkpoints(seed, 3 + random() % 3);
    const Bytes memory(600 + static_cast<std::int64_t>(random() % 2000));
    const Platform platform =
        random() % 2 == 0 ? clustered_platform(2, 2, 800, 200, memory) : flat_platform(2 + random() % 3, 200, memory);
    for (unsigned variant = 1; variant < 4; ++variant) {
      CAPTURE(seed);
      CAPTURE(variant);
      JudgedMemory judged;
      GivenOptions options;
      if ((variant & 1U) != 0) options.emplace_back("recompute", "stage");
      if ((variant & 2U) != 0) options.emplace_back("weight_versions", "2");
      judged.recompute = (variant & 1U) != 0;
      if ((variant & 2U) != 0) judged.most_versions = 2;
      const double best = best_fitting(graph, platform, judged);
      const PlanResult result = run_planner(planner(), graph, platform, options);
      CHECK(std::holds_alternative<Infeasible>(result) == (best == kInfinity));
      ++(best == kInfinity ? infeasible : feasible);
      if (best == kInfinity || std::holds_alternative<Infeasible>(result)) continue;
      const Plan& plan = std::get<Planned>(result).plan;
      CHECK(detail_number(std::get<Planned>(result).details, "claimed_period_s") ==
            doctest::Approx(best).epsilon(1e-9));
      for (const Stage& stage : plan.stages) {
        CHECK(actions_of<Recompute>(stage).size() == (judged.recompute ? 1 : 0));
        if (judged.recompute) CHECK(actions_of<Recompute>(stage).front().layers == stage.layers);
      }
      for (const std::int64_t versions : testing::compiled(plan).weight_versions) {
        CHECK(versions <= judged.most_versions);
      }
    }
  }
  CHECK(feasible >= 20);
  CHECK(infeasible >= 5);
}

TEST_CASE("pipedream memory: a cap on microbatches in flight is in the plan, which fits") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const LayerGraph graph = chain_with_checkpoints(seed, 5);
    const Platform platform = flat_platform(4, 200, Bytes(1500));
    const PlanResult result = run_planner(planner(), graph, platform, {{"in_flight", "2"}});
    if (std::holds_alternative<Infeasible>(result)) continue;
    const Planned& found = std::get<Planned>(result);
    for (const Stage& stage : found.plan.stages) CHECK(stage.in_flight == 2);
    JudgedMemory judged;
    judged.in_flight = 2;
    CHECK(detail_number(found.details, "claimed_period_s") >= best_fitting(graph, platform, judged) * (1 - 1e-9));
    CHECK_FALSE(
        memory_overflow(platform, found.plan, ledger_peaks(graph, platform, found.plan, testing::compiled(found.plan)))
            .has_value());
  }
}

TEST_CASE("pipedream memory: the first stage has NOAM microbatches in flight, and depth multiplies the warm-up") {
  // Three equal layers on three devices: NOAM is 3 / 1; with a first stage on two of them it is ceil(3 / 2) = 2. The
  // warm-up is one less; depth 2 doubles it.
  const LayerGraph graph = chain({1, 1, 1});
  const Platform platform = flat_platform(3, 1000.0);
  for (const bool straight : {true, false}) {
    LayerGraph cheap = graph;
    if (!straight) {
      cheap.layers[LayerId(0)].parameters = cheap.layers[LayerId(1)].parameters = Bytes(0);
      cheap.layers[LayerId(2)].parameters = Bytes(1'000'000);
    }
    const Planned found = std::get<Planned>(
        run_planner(planner(), cheap, platform, {{"straight", straight ? "true" : "false"}, {"memory_test", "none"}}));
    const std::int64_t noam = straight ? 3 : 2;
    REQUIRE(found.plan.stages.front().replicas.size() == (straight ? 1 : 2));
    CHECK(testing::compiled(found.plan).in_flight.front() == noam);
    const auto detail = std::ranges::find(found.details, "noam", &Detail::Record::value_type::first);
    REQUIRE(detail != found.details.end());
    CHECK(std::get<std::int64_t>(detail->second.value) == noam);
    Plan deeper = found.plan;
    deeper.microbatches = 64;
    deeper.schedule = {"pipedream", {{"depth", 2}}};
    CHECK(testing::compiled(deeper).in_flight.front() == 2 * (noam - 1) + 1);
  }
}

}  // namespace stagecraft::pipedream_memory_test
