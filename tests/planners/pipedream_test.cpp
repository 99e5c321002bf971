#include "planners/pipedream/memory_test.hpp"
#include "planners/registry.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/base/error.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/planners/pipedream_evaluator.hpp"
#include "tests/planners/pipedream_oracle.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/compiled.hpp"

#include <doctest/doctest.h>

#include <random>

namespace stagecraft::pipedream_test {

using namespace stagecraft::testing;
using pipedream::Answer;
using pipedream::BoundaryCost;
using pipedream::DownSets;
using pipedream::enumerate_down_sets;
using pipedream::MemoryTest;
using pipedream::optimize;
using pipedream::Settings;
using pipedream::Synchronisation;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const PlannerInfo& planner() { return find_planner("pipedream"); }

Level level(std::uint32_t members, double bandwidth) { return {members, BytesPerSecond(bandwidth)}; }

Planned planned(const PlanResult& result) {
  REQUIRE(std::holds_alternative<Planned>(result));
  return std::get<Planned>(result);
}

double claimed_period(const Planned& found) { return detail_number(found.details, "claimed_period_s"); }

JudgedCosts judged_costs(const Settings& settings) {
  return {settings.communication, settings.synchronisation == Synchronisation::Overlapped,
          settings.boundary == BoundaryCost::Whole, settings.rounds_per_update};
}

/// Whether the original's memory test accepts a flat list of stages.
bool passes_original(const LayerGraph& graph, const std::vector<JudgedStage>& stages, std::size_t members,
                     double limit) {
  double used = 0.0;
  for (const JudgedStage& stage : stages) {
    used += stage.replicas;
    double held = 0.0;
    for (LayerId layer : stage.layers) {
      held += static_cast<double>((graph.layers[layer].stash + graph.layers[layer].parameters).value());
    }
    if (held * std::ceil((static_cast<double>(members) - used) / stage.replicas) > limit) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("pipedream: the hand-worked example") {
  // Forward + backward of 3, 6, 3 s; every tensor 10 B, 10 B/s. The last layer has 100 B of parameters, as have the
  // others. Two devices:
  //   one stage on both: (12 + 4 · 1 · 300 / (10 · 2)) / 2 = (12 + 60) / 2 = 36 s;
  //   cut after l0: max(3, 9, 2 · 10 / 10) = 9 s; cut after l1: max(9, 3, 2) = 9 s.
  // With outputs of 50 B the boundary takes 2 · 50 / 10 = 10 s, which is then the period.
  LayerGraph graph = chain({1, 2, 1});
  const Planned free = planned(run_planner(planner(), graph, flat_platform(2, 10)));
  CHECK(free.plan.predicted.period->value() == doctest::Approx(9.0).epsilon(1e-12));
  CHECK(free.plan.stages.size() == 2);
  CHECK(detail_number(free.details, "claimed_period_s") == doctest::Approx(9.0).epsilon(1e-12));
  CHECK(detail_number(free.details, "data_parallel_s") == doctest::Approx(36.0).epsilon(1e-12));
  CHECK(detail_number(free.details, "total_compute_s") == doctest::Approx(12.0).epsilon(1e-12));
  for (Layer& layer : graph.layers) layer.output = Bytes(50);
  const Planned slow = planned(run_planner(planner(), graph, flat_platform(2, 10)));
  CHECK(claimed_period(slow) == doctest::Approx(10.0).epsilon(1e-12));
  const Planned without = planned(run_planner(planner(), graph, flat_platform(2, 10), {{"communication", "off"}}));
  CHECK(claimed_period(without) == doctest::Approx(9.0).epsilon(1e-12));
}

TEST_CASE("pipedream: states and boundary traffic of a diamond with a second source") {
  // a -> b, a -> c, b -> d, c -> d, e -> d: e comes in only with d, so the states are {a}, {a b}, {a c}, {a b c}, all.
  LayerGraph graph = chain({1, 1, 1, 1, 1});
  graph.edges = {{LayerId(0), LayerId(1), Bytes(1)},
                 {LayerId(0), LayerId(2), Bytes(1)},
                 {LayerId(1), LayerId(3), Bytes(1)},
                 {LayerId(2), LayerId(3), Bytes(1)},
                 {LayerId(4), LayerId(3), Bytes(1)}};
  for (std::size_t i = 0; i < 5; ++i) graph.layers[LayerId(i)].output = Bytes(1 << i);
  const DownSets states = enumerate_down_sets(graph, 100).value();
  REQUIRE(states.count == 5);
  // a feeds c, which is no ancestor of b: {a b} costs a and b. In {a b c} a is counted although both uses are inside.
  CHECK(states.traffic[0] == 1.0);
  CHECK(states.traffic[1] == 1.0 + 2.0);
  CHECK(states.traffic[2] == 1.0 + 4.0);
  CHECK(states.traffic[3] == 1.0 + 2.0 + 4.0);
  CHECK(pipedream::layers_between(states, pipedream::kNothing, 4).size() == 5);
}

TEST_CASE("pipedream: states and traffic equal the definition on 100 random graphs") {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    const LayerGraph graph = random_graph(seed, 3 + seed % 7);
    const std::vector<std::set<LayerId>> family = down_set_family(graph);
    const DownSets states = enumerate_down_sets(graph, 10000).value();
    REQUIRE(states.count == family.size());
    for (std::size_t s = 0; s < states.count; ++s) {
      const auto layers = pipedream::layers_between(states, pipedream::kNothing, s);
      const std::set<LayerId> done(layers.begin(), layers.end());
      CHECK(std::ranges::find(family, done) != family.end());
      CHECK(states.traffic[s] == doctest::Approx(boundary_traffic(graph, done)).epsilon(1e-12));
    }
  }
}

TEST_CASE("pipedream: equals the best of all pipelines on 100 random graphs") {
  for (unsigned seed = 1; seed <= testing::random_cases(100U); ++seed) {
    std::mt19937 random(seed);
    const LayerGraph graph = random_graph(seed, 3 + random() % 4);
    const DownSets states = enumerate_down_sets(graph, 10000).value();
    Settings settings;
    const auto members = static_cast<std::uint32_t>(1 + random() % 4);
    settings.levels = {level(members, 50.0 + random() % 400)};
    const MemoryTest test = pipedream::original_memory_test(Bytes(500 + random() % 1500));
    for (unsigned variant = 0; variant < 64; ++variant) {
      CAPTURE(seed);
      CAPTURE(variant);
      settings.communication = (variant & 1U) != 0;
      settings.straight = (variant & 2U) != 0;
      settings.use_fewer = (variant & 4U) != 0;
      settings.memory = (variant & 8U) != 0 && !settings.use_fewer ? &test : nullptr;
      settings.synchronisation = (variant & 16U) != 0 ? Synchronisation::Overlapped : Synchronisation::Added;
      settings.boundary = (variant & 32U) != 0 ? BoundaryCost::Whole : BoundaryCost::Divided;
      settings.rounds_per_update = 1.0 + (seed + variant) % 3;
      double best = kInfinity;
      for (const auto& stages : all_pipelines(graph, settings.levels, settings.use_fewer)) {
        if (settings.straight && !is_straight(stages)) continue;
        if (settings.memory != nullptr && !passes_original(graph, stages, members, test.capacity)) continue;
        best = std::min(best, judge(graph, settings.levels, judged_costs(settings), stages));
      }
      const Answer answer = optimize(states, settings);
      CHECK((answer.period == kInfinity) == (best == kInfinity));
      if (best == kInfinity) continue;
      CHECK(answer.period == doctest::Approx(best).epsilon(1e-9));
      CHECK(pipedream::period_of(states, settings, answer.segments) == doctest::Approx(best).epsilon(1e-9));
      const auto stages = to_judge(states, answer.segments);
      CHECK(judge(graph, settings.levels, judged_costs(settings), stages) == doctest::Approx(best).epsilon(1e-9));
    }
  }
}

TEST_CASE("pipedream: equals the best of all two-level pipelines on 60 random graphs") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    const LayerGraph graph = random_graph(seed, 3 + random() % 3);
    const DownSets states = enumerate_down_sets(graph, 10000).value();
    Settings settings;
    settings.levels = {level(2, 300.0 + random() % 900), level(2 + random() % 2, 50.0 + random() % 300)};
    for (unsigned variant = 0; variant < 8; ++variant) {
      CAPTURE(seed);
      CAPTURE(variant);
      settings.communication = (variant & 1U) != 0;
      settings.synchronisation = (variant & 2U) != 0 ? Synchronisation::Overlapped : Synchronisation::Added;
      settings.boundary = (variant & 4U) != 0 ? BoundaryCost::Whole : BoundaryCost::Divided;
      settings.rounds_per_update = 1.0 + (seed + variant) % 3;
      double best = kInfinity;
      for (const auto& stages : all_pipelines(graph, settings.levels, false)) {
        best = std::min(best, judge(graph, settings.levels, judged_costs(settings), stages));
      }
      const Answer answer = optimize(states, settings);
      CHECK(answer.period == doctest::Approx(best).epsilon(1e-9));
      CHECK(pipedream::period_of(states, settings, answer.segments) == doctest::Approx(best).epsilon(1e-9));
      const auto stages = to_judge(states, answer.segments);
      CHECK(judge(graph, settings.levels, judged_costs(settings), stages) == doctest::Approx(best).epsilon(1e-9));
    }
  }
}

TEST_CASE("pipedream: the ledger test gives the best pipeline that fits, on chains") {
  // On a chain every tensor has one consumer, so the stage's ledger is known exactly while it is chosen.
  std::size_t bound = 0;  // cases where memory takes the best pipeline away
  std::size_t infeasible = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    LayerGraph graph = random_chain(seed, 3 + random() % 3);
    const bool two_levels = random() % 2 == 0;
    const Bytes memory(800 + random() % 2500);
    const Platform platform =
        two_levels ? clustered_platform(2, 2, 800, 200, memory) : flat_platform(2 + random() % 3, 200, memory);
    double best = kInfinity;
    double best_fitting = kInfinity;
    for (const auto& stages : all_pipelines(graph, levels(platform), false)) {
      const double value = judge(graph, levels(platform), {}, stages);
      best = std::min(best, value);
      if (fits_ledger(graph, platform, stages, planner().default_schedule, 8)) {
        best_fitting = std::min(best_fitting, value);
      }
    }
    const PlanResult result = run_planner(planner(), graph, platform);
    CHECK(std::holds_alternative<Infeasible>(result) == (best_fitting == kInfinity));
    if (best_fitting == kInfinity) {
      ++infeasible;
      CHECK(std::get<Infeasible>(result).excess > Bytes(0));
      continue;
    }
    const Planned found = planned(result);
    CHECK(claimed_period(found) == doctest::Approx(best_fitting).epsilon(1e-9));
    CHECK_FALSE(memory_overflow(platform, found.plan,
                                ledger_peaks(graph, platform, require_schedule(graph, platform, found.plan)))
                    .has_value());
    if (best_fitting > best * (1 + 1e-9)) ++bound;
  }
  CHECK(bound >= 5);
  CHECK(infeasible >= 5);
}

TEST_CASE("pipedream: what the ledger test returns on a graph fits, and more memory never hurts") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const LayerGraph graph = random_graph(seed, 4 + seed % 4);
    double before = kInfinity;
    for (std::int64_t memory = 1000; memory <= 5000; memory += 500) {
      const Platform platform = flat_platform(3, 200, Bytes(memory));
      const PlanResult result = run_planner(planner(), graph, platform);
      if (std::holds_alternative<Infeasible>(result)) {
        CHECK(before == kInfinity);
        continue;
      }
      const Planned found = planned(result);
      CHECK_FALSE(memory_overflow(platform, found.plan,
                                  ledger_peaks(graph, platform, require_schedule(graph, platform, found.plan)))
                      .has_value());
      CHECK(claimed_period(found) <= before * (1 + 1e-9));
      before = claimed_period(found);
    }
  }
}

TEST_CASE("pipedream: a pipeline inside every node has node-major device lists") {
  // Two layers, nothing to send, parameters that only the network between nodes synchronises fast: the pipeline stands
  // inside each node and is replicated over the nodes.
  LayerGraph graph = chain({1, 1});
  for (Layer& layer : graph.layers) layer.output = Bytes(0);
  const Platform platform = clustered_platform(2, 2, 1.0, 1e9, Bytes(1'000'000));
  const Planned found = planned(run_planner(planner(), graph, platform));
  REQUIRE(found.plan.stages.size() == 2);
  CHECK(found.plan.stages[0].replicas == std::vector<Group>{DeviceId(0), DeviceId(2)});
  CHECK(found.plan.stages[1].replicas == std::vector<Group>{DeviceId(1), DeviceId(3)});
}

TEST_CASE("pipedream: times scaled by k over bandwidths divided by k scale the period, names do not matter") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const LayerGraph graph = random_graph(seed, 7);
    LayerGraph slower = graph;
    for (Layer& layer : slower.layers) {
      layer.name += "_renamed";
      layer.forward = layer.forward * 4.0;
      layer.backward = layer.backward * 4.0;
    }
    const Planned fast = planned(run_planner(planner(), graph, flat_platform(3, 400)));
    const Planned slow = planned(run_planner(planner(), slower, flat_platform(3, 100)));
    CHECK(slow.plan.predicted.period->value() ==
          doctest::Approx(4.0 * fast.plan.predicted.period->value()).epsilon(1e-12));
    CHECK(slow.plan.stages == fast.plan.stages);
  }
}

TEST_CASE("pipedream: one device holds everything") {
  const Planned found = planned(run_planner(planner(), chain({1, 2}), flat_platform(1)));
  CHECK(found.plan.stages.size() == 1);
  CHECK(found.plan.predicted.period->value() == doctest::Approx(9.0).epsilon(1e-12));
}

TEST_CASE("pipedream: a straight pipeline with more devices than states has no plan") {
  const PlanResult result = run_planner(planner(), chain({1, 1}), flat_platform(3), {{"straight", "true"}});
  CHECK(std::holds_alternative<Infeasible>(result));
  const PlanResult fewer =
      run_planner(planner(), chain({1, 1}), flat_platform(3), {{"straight", "true"}, {"use_fewer", "true"}});
  CHECK(planned(fewer).plan.stages.size() == 2);
}

TEST_CASE("pipedream: too many states or transitions are refused with the figures") {
  const LayerGraph graph = chain({1, 1, 1, 1, 1});
  CHECK_THROWS_WITH_AS(
      (void)run_planner(planner(), graph, flat_platform(2), {{"compress", "false"}, {"max_states", "4"}}),
      doctest::Contains("more than 4 states (option max_states), whose tables would need more than 6"), InputError);
  // Five states: 10 pairs, one way to split two devices.
  CHECK_THROWS_WITH_AS(
      (void)run_planner(planner(), graph, flat_platform(2), {{"compress", "false"}, {"max_work", "9"}}),
      doctest::Contains("the tables of 5 states would take 10 transitions, more than 9 (option max_work)"), InputError);
  CHECK(planned(run_planner(planner(), graph, flat_platform(2), {{"max_work", "10"}})).plan.stages.size() > 0);
}

TEST_CASE("pipedream: a layer that no state reaches is refused by name") {
  LayerGraph graph = chain({1, 1, 1});
  graph.edges.pop_back();
  CHECK_THROWS_WITH_AS((void)run_planner(planner(), graph, flat_platform(2)), doctest::Contains("'l2'"), InputError);
}

}  // namespace stagecraft::pipedream_test
