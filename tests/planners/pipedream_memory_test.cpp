#include "planners/registry.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/planners/pipedream_evaluator.hpp"
#include "tests/planners/pipedream_oracle.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/shared_tensors.hpp"

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
  if (seed % 2 == 0) share_tensors(graph, seed, 40);
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

/// Of all pipelines on at most all devices: the least period of those that fit, and the least memory of all.
struct BestOfFewer {
  double period = kInfinity;
  Bytes memory{std::numeric_limits<std::int64_t>::max()};
};

BestOfFewer best_of_fewer(const LayerGraph& graph, const Platform& platform, bool straight) {
  const Bytes capacity = smallest_capacity(platform);
  Platform tiny = platform;
  for (DeviceKind& kind : tiny.spec.device_kinds) kind.memory = Bytes(0);
  BestOfFewer best;
  for (const auto& stages : all_pipelines(graph, levels(platform), true)) {
    if (straight && !is_straight(stages)) continue;
    const Bytes need = ledger_need(graph, tiny, stages, planner().default_schedule, 8);
    best.memory = std::min(best.memory, need);
    if (need <= capacity) best.period = std::min(best.period, judge(graph, levels(platform), {}, stages));
  }
  return best;
}

GivenOptions fewer_options(bool straight) { return {{"use_fewer", "true"}, {"straight", straight ? "true" : "false"}}; }

bool fits(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  const auto peaks = ledger_peaks(graph, platform, require_schedule(graph, platform, plan));
  return !memory_overflow(platform, plan, peaks).has_value();
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
  for (unsigned seed = 1; seed <= testing::random_cases(20U); ++seed) {
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
    CHECK_FALSE(memory_overflow(platform, found.plan,
                                ledger_peaks(graph, platform, require_schedule(graph, platform, found.plan)))
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
    CHECK(std::get<std::int64_t>(detail(found, "noam").value) == noam);
    Plan deeper = found.plan;
    deeper.microbatches = 64;
    deeper.schedule = {"pipedream", {{"depth", 2}}};
    CHECK(testing::compiled(deeper).in_flight.front() == 2 * (noam - 1) + 1);
  }
}

TEST_CASE(
    "pipedream memory: with idle devices it gives the best pipeline that fits and the least memory, on one level") {
  // A device that is left idle holds nothing, so it must not count among those behind a stage.
  int infeasible = 0;
  int only_with_fewer = 0;
  for (unsigned seed = 1; seed <= random_cases(240U); ++seed) {
    std::mt19937 random(seed);
    const LayerGraph graph = random_chain(seed, 3 + random() % 3);
    const Bytes memory(400 + static_cast<std::int64_t>(random() % 1800));
    const Platform platform = flat_platform(2 + random() % 4, 200, memory);
    for (const bool straight : {false, true}) {
      CAPTURE(seed);
      CAPTURE(straight);
      const BestOfFewer best = best_of_fewer(graph, platform, straight);
      const PlanResult result = run_planner(planner(), graph, platform, fewer_options(straight));
      if (best.period == kInfinity) {
        ++infeasible;
        REQUIRE(std::holds_alternative<Infeasible>(result));
        CHECK(std::get<Infeasible>(result).smallest_memory == best.memory);
        continue;
      }
      REQUIRE(std::holds_alternative<Planned>(result));
      const Planned& found = std::get<Planned>(result);
      CHECK(detail_number(found.details, "claimed_period_s") == doctest::Approx(best.period).epsilon(1e-9));
      CHECK(fits(graph, platform, found.plan));
      const PlanResult on_all = run_planner(planner(), graph, platform, {{"straight", straight ? "true" : "false"}});
      only_with_fewer += std::holds_alternative<Infeasible>(on_all) ? 1 : 0;
    }
  }
  MESSAGE("infeasible " << infeasible << ", only with fewer devices " << only_with_fewer);
  CHECK(infeasible >= random_cases(160));
  CHECK(only_with_fewer >= random_cases(16));
}

TEST_CASE("pipedream memory: with idle devices on two levels its plan fits, and is seldom worse than the best") {
  int feasible = 0;
  int worse = 0;
  int missed = 0;
  for (unsigned seed = 1; seed <= random_cases(240U); ++seed) {
    std::mt19937 random(seed);
    const LayerGraph graph = random_chain(seed, 3 + random() % 2);
    const Bytes memory(400 + static_cast<std::int64_t>(random() % 1800));
    const Platform platform = clustered_platform(2, 2, 800, 200, memory);
    for (const bool straight : {false, true}) {
      CAPTURE(seed);
      CAPTURE(straight);
      const BestOfFewer best = best_of_fewer(graph, platform, straight);
      const PlanResult result = run_planner(planner(), graph, platform, fewer_options(straight));
      feasible += best.period < kInfinity ? 1 : 0;
      if (const auto* none = std::get_if<Infeasible>(&result)) {
        missed += best.period < kInfinity ? 1 : 0;
        REQUIRE(none->smallest_memory.has_value());
        CHECK(*none->smallest_memory >= best.memory);
        const auto with = [&](Bytes bytes) {
          return run_planner(planner(), graph, clustered_platform(2, 2, 800, 200, bytes), fewer_options(straight));
        };
        CHECK(std::holds_alternative<Planned>(with(*none->smallest_memory)));
        CHECK(std::holds_alternative<Infeasible>(with(*none->smallest_memory - Bytes(1))));
        continue;
      }
      const Planned& found = std::get<Planned>(result);
      CHECK(fits(graph, platform, found.plan));
      const double claimed = detail_number(found.details, "claimed_period_s");
      CHECK(claimed >= best.period * (1 - 1e-9));
      worse += claimed > best.period * (1 + 1e-9) ? 1 : 0;
    }
  }
  MESSAGE("feasible " << feasible << ", worse than the best " << worse << ", missed " << missed);
  CHECK(feasible >= random_cases(160));
  CHECK(worse + missed <= feasible / 20);
}

TEST_CASE("pipedream memory: a smaller shape takes the first devices of each node") {
  // Two stages, one on each of two nodes, since links inside a node are slow. With the two devices that stay idle the
  // first stage would have three microbatches in flight; it has two.
  LayerGraph graph = chain({1, 1});
  for (Layer& layer : graph.layers) layer.parameters = Bytes(0);
  for (Layer& layer : graph.layers) layer.stash = Bytes(1000);
  const Platform roomy = clustered_platform(2, 2, 1.0, 1e9, Bytes(1'000'000));
  const auto plan_on = [&](const Platform& platform) {
    const PlanResult result = run_planner(planner(), graph, platform, fewer_options(true));
    REQUIRE(std::holds_alternative<Planned>(result));
    return std::get<Planned>(result).plan;
  };
  const Plan free = plan_on(roomy);
  REQUIRE(free.stages.size() == 2);
  const auto peaks = ledger_peaks(graph, roomy, require_schedule(graph, roomy, free));
  const Bytes need = std::ranges::max_element(peaks, {}, [](const auto& peak) { return peak.second; })->second;
  CHECK(need >= Bytes(2000));
  CHECK(need < Bytes(3000));
  const Plan tight = plan_on(clustered_platform(2, 2, 1.0, 1e9, need));
  CHECK(tight.stages == free.stages);
  CHECK(tight.stages[0].replicas == std::vector<Group>{DeviceId(0)});
  CHECK(tight.stages[1].replicas == std::vector<Group>{DeviceId(2)});
}

TEST_CASE("pipedream memory: smaller numbers of devices are tried within max_work, and the answer says so") {
  // Eight states: 28 pairs, and 28 (m - 1) transitions for straight pipelines on m devices, 784 for all m up to eight.
  // 690 are enough for the first search, of 196 and 480 steps of its memory test, and those on seven, six and five
  // devices. The fastest pipeline has a stage of the first six layers, which needs more than six stages would.
  LayerGraph graph = chain({1, 1, 1, 1, 1, 1, 9, 1});
  for (Layer& layer : graph.layers) layer.stash = Bytes(1000);
  const auto answer = [&](Bytes memory, const char* max_work) {
    GivenOptions options = fewer_options(true);
    options.emplace_back("max_work", max_work);
    const Platform platform = flat_platform(8, 200, memory);
    return planner().plan(
        {graph, platform, {planner().default_schedule, {}}, 8, {}, parse_options(planner(), options)});
  };
  const auto reason = [&](const char* max_work) { return std::get<Infeasible>(answer(Bytes(1), max_work)).reason; };
  CHECK(reason("784").starts_with("no pipeline fits; in the fastest one, "));
  CHECK(reason("690").starts_with("no pipeline that was tried fits, and max_work does not allow all numbers"));
  int told = 0;
  for (std::int64_t memory = 0; memory <= 20000; memory += 100) {
    const PlanResult all = answer(Bytes(memory), "784");
    const PlanResult some = answer(Bytes(memory), "690");
    if (!std::holds_alternative<Planned>(some)) continue;
    CHECK(std::get<Planned>(all).notes.empty());
    const std::vector<std::string>& notes = std::get<Planned>(some).notes;
    told += !notes.empty() && notes.back().find("max_work") != std::string::npos ? 1 : 0;
  }
  CHECK(told > 0);
}

}  // namespace stagecraft::pipedream_memory_test
