#include "planners/pipedream/recurrence.hpp"
#include "planners/registry.hpp"
#include "planners/shared/costs/pipeline_claim.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/updates.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/planners/pipedream_evaluator.hpp"
#include "tests/planners/pipedream_oracle.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

/// What `pipedream` makes of updates: the samples of an update, two weight versions, and the claim.
namespace stagecraft::pipedream_updates_test {

using namespace stagecraft::testing;

namespace {

using GivenOptions = std::vector<std::pair<std::string, std::string>>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

const PlannerInfo& planner() { return find_planner("pipedream"); }

struct Asked {
  std::optional<std::int64_t> update;  ///< microbatches between updates
  GivenOptions options;
  Training training;
  std::int64_t microbatches = 64;
};

PlanResult run_with(const LayerGraph& graph, const Platform& platform, const Asked& asked) {
  PlanRequest request = {
      graph, platform, {"pipedream", {}}, asked.microbatches, asked.training, parse_options(planner(), asked.options)};
  if (asked.update.has_value()) request.samples_per_update = *asked.update * graph.microbatch_size;
  return planner().plan(request);
}

Planned planned_with(const LayerGraph& graph, const Platform& platform, const Asked& asked) {
  const PlanResult result = run_with(graph, platform, asked);
  REQUIRE(std::holds_alternative<Planned>(result));
  return std::get<Planned>(result);
}

std::int64_t most_replicas(const std::vector<JudgedStage>& stages) {
  double most = 1.0;
  for (const JudgedStage& stage : stages) most = std::max(most, stage.replicas);
  return static_cast<std::int64_t>(most);
}

std::int64_t most_replicas(const Plan& plan) {
  std::size_t most = 1;
  for (const Stage& stage : plan.stages) most = std::max(most, stage.replicas.size());
  return static_cast<std::int64_t>(most);
}

/// The most versions of a stage's weights that a device would hold at a time if a backward uses the weights of its
/// forward, counted over its order. An update follows every R-th backward; where replicas exchange gradients it is made
/// before the next backward, when the forward between them has read the old weights.
std::int64_t counted_versions(const std::vector<Action>& actions, StageId stage, std::int64_t rounds, bool reduces) {
  std::vector<std::int64_t> read;  // by microbatch in flight: the version that its forward read
  std::int64_t backwards = 0;
  std::int64_t newest = 0;
  std::int64_t most = 1;
  const auto count = [&] {
    const std::int64_t oldest = read.empty() ? newest : std::min(newest, *std::ranges::min_element(read));
    most = std::max(most, newest - oldest + 1);
  };
  for (const Action& action : actions) {
    if (action.stage != stage) continue;
    if (action.kind == ActionKind::Forward) {
      read.push_back(newest);
      continue;
    }
    if (action.kind != ActionKind::Backward) continue;
    if (reduces) newest = backwards / rounds;
    count();
    read.erase(read.begin());
    ++backwards;
    if (!reduces) newest = backwards / rounds;
    count();
  }
  return most;
}

}  // namespace

TEST_CASE("pipedream updates: with at most so many replicas the recurrence gives the best of all such pipelines") {
  int bound = 0;
  for (unsigned seed = 1; seed <= static_cast<unsigned>(random_cases(100)); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const LayerGraph graph = random_graph(seed, 3 + random() % 4);
    const pipedream::DownSets states = pipedream::enumerate_down_sets(graph, 10000).value();
    const Platform platform = flat_platform(2 + random() % 3, 20.0 + random() % 200);
    pipedream::Settings settings;
    settings.levels = levels(platform);
    settings.most_replicas = 1 + random() % 3;
    settings.use_fewer = random() % 2 == 0;
    JudgedCosts costs;
    costs.rounds = settings.rounds_per_update = static_cast<double>(1 + random() % 6);
    double best = kInfinity;
    double free = kInfinity;
    for (const auto& stages : all_pipelines(graph, settings.levels, settings.use_fewer)) {
      const double value = judge(graph, settings.levels, costs, stages);
      free = std::min(free, value);
      if (most_replicas(stages) <= static_cast<std::int64_t>(settings.most_replicas)) best = std::min(best, value);
    }
    const pipedream::Answer answer = optimize(states, settings);
    CHECK((answer.period == kInfinity) == (best == kInfinity));
    if (best == kInfinity) continue;
    CHECK(answer.period == doctest::Approx(best).epsilon(1e-9));
    bound += best > free * (1 + 1e-9) ? 1 : 0;
  }
  CHECK(bound > random_cases(10));
}

TEST_CASE("pipedream updates: a plan has the samples asked for, and claims no more than the published form's plan") {
  // An update of u microbatches has u / t rounds if the stage with the most replicas has t; 12 and its multiples are
  // divisible by every t here. The plan that is found without a number of samples then has such an update, too, and is
  // claimed with it.
  int better = 0;
  for (unsigned seed = 1; seed <= static_cast<unsigned>(random_cases(80)); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    LayerGraph graph = random_graph(seed, 3 + random() % 4);
    graph.microbatch_size = 1 + static_cast<std::int64_t>(random() % 8);
    const Platform platform = flat_platform(2 + random() % 3, 20.0 + random() % 200);
    const std::int64_t update = 12 * (1 + static_cast<std::int64_t>(random() % 3));
    Asked asked{.update = {}, .options = {{"memory_test", "none"}}, .training = {}};
    if (random() % 2 == 0) {
      asked.options.insert(asked.options.end(), {{"synchronisation", "overlapped"}, {"boundary", "whole"}});
    }
    Plan published = planned_with(graph, platform, asked).plan;
    published.rounds_per_update = update / most_replicas(published);
    const double claim = pipeline_claim(graph, platform, published).period->value();
    asked.update = update;
    const Planned found = planned_with(graph, platform, asked);
    CHECK(found.plan.rounds_per_update * most_replicas(found.plan) == update);
    CHECK(found.plan.predicted.period->value() <= claim * (1 + 1e-12));
    better += found.plan.predicted.period->value() < claim * (1 - 1e-9) ? 1 : 0;
    std::vector<JudgedStage> stages;
    for (const Stage& stage : found.plan.stages) {
      stages.push_back({stage.layers, static_cast<double>(stage.replicas.size()), {}});
    }
    JudgedCosts costs;
    costs.overlapped = costs.whole = asked.options.size() > 1;
    costs.rounds = static_cast<double>(found.plan.rounds_per_update);
    CHECK(detail_number(found.details, "claimed_period_s") ==
          doctest::Approx(judge(graph, levels(platform), costs, stages)).epsilon(1e-9));
  }
  CHECK(better > random_cases(10));
}

TEST_CASE("pipedream updates: all layers in one stage are tried where a search with as many replicas finds fewer") {
  // Updates of 4 microbatches on 4 devices, so 3 replicas have no whole rounds.
  int one_stage = 0;
  for (unsigned seed = 1; seed <= static_cast<unsigned>(random_cases(100)); ++seed) {
    CAPTURE(seed);
    const LayerGraph graph = random_chain(seed, 5);
    const Platform platform = flat_platform(4, 2000.0);
    const Planned found = planned_with(graph, platform, {.update = 4, .options = {}, .training = {}});
    Plan whole = found.plan;
    whole.rounds_per_update = 1;
    whole.stages.resize(1);
    whole.stages[0].layers = found.plan.stages[0].layers;
    for (std::size_t s = 1; s < found.plan.stages.size(); ++s) {
      const Stage& stage = found.plan.stages[s];
      whole.stages[0].layers.insert(whole.stages[0].layers.end(), stage.layers.begin(), stage.layers.end());
    }
    whole.stages[0].replicas.clear();
    for (std::size_t device = 0; device < 4; ++device) whole.stages[0].replicas.emplace_back(DeviceId(device));
    const double claim = pipeline_claim(graph, platform, whole).period->value();
    CHECK(found.plan.predicted.period->value() <= claim * (1 + 1e-12));
    one_stage += found.plan.stages.size() == 1 ? 1 : 0;
  }
  CHECK(one_stage > random_cases(10));
}

TEST_CASE("pipedream updates: a plan whose replicas divide an update is preferred to a faster one whose do not") {
  // Three equal layers without parameters on three devices: by the formula 9 / 3 = 3 s either way, and the single stage
  // of three replicas goes first. Its rounds have 3 microbatches. An update of 4 leaves one or two replicas: (2, 1)
  // takes max(6 / 2, 3) = 3 s with 2 rounds.
  LayerGraph graph = chain({1, 1, 1});
  for (Layer& layer : graph.layers) layer.parameters = Bytes(0);
  const Platform platform = flat_platform(3, 1000.0);
  CHECK(planned_with(graph, platform, {}).plan.stages.size() == 1);
  const Plan plan = planned_with(graph, platform, {.update = 4, .options = {}, .training = {}}).plan;
  CHECK(most_replicas(plan) * plan.rounds_per_update == 4);
  CHECK(most_replicas(plan) < 3);
}

TEST_CASE("pipedream updates: the claim of replicas, by hand and as evaluated") {
  // Two layers of 1 s + 2 s and 100 B each, as one stage on two devices, because its output is large. The all-reduce of
  // all gradients takes 200 B / (10 B/s) = 20 s, of a layer's 10 s. A round without an update takes 3 + 3 s.
  // At once: the last backward is followed by 20 s, under which the next forward of 2 s runs.
  // In buckets of a layer each: the first bucket is complete 2 s before the backward ends, so 18 s are left after it.
  LayerGraph graph = chain({1, 1});
  for (Layer& layer : graph.layers) layer.output = Bytes(100'000);
  graph.edges.front().bytes = Bytes(100'000);
  const Platform platform = flat_platform(2, 10.0);
  for (const std::int64_t rounds : {1, 2, 5}) {
    for (const std::int64_t bucket : {0, 100}) {
      CAPTURE(rounds);
      CAPTURE(bucket);
      Asked asked{.update = 2 * rounds, .options = {}, .training = {}, .microbatches = 400};
      asked.training.gradient_bucket = Bytes(bucket);
      const Planned found = planned_with(graph, platform, asked);
      REQUIRE(found.plan.stages.size() == 1);
      CHECK(found.plan.rounds_per_update == rounds);
      const double exposed = bucket == 0 ? 20.0 : 18.0;
      const double group = 6.0 * static_cast<double>(rounds - 1) + 4.0 + exposed;
      const double period = group / (2.0 * static_cast<double>(rounds));
      CHECK(found.plan.predicted.period->value() == doctest::Approx(period).epsilon(1e-12));
      CHECK(evaluate_plan(graph, platform, found.plan).period->value() == doctest::Approx(period).epsilon(1e-9));
      // The recurrence has PipeDream's 4 (2 - 1) / 2 · 200 / 10 = 40 s, added to the 6 s of a microbatch, in either
      // case. Its share of a round is a part of it.
      CHECK(detail_number(found.details, "claimed_period_s") ==
            doctest::Approx((6.0 + 40.0 / static_cast<double>(rounds)) / 2.0).epsilon(1e-12));
    }
  }
}

TEST_CASE("pipedream updates: without transfers the evaluation never takes less than the claim, random chains") {
  // Whatever else a replica waits for, in R rounds it computes R microbatches, and after the last backward it waits for
  // what is left of the exchange, under which at most its next forward runs.
  int replicated = 0;
  int exact = 0;
  const int cases = random_cases(100);
  for (unsigned seed = 1; seed <= static_cast<unsigned>(cases); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    LayerGraph graph = random_chain(seed, 2 + random() % 4);
    for (Layer& layer : graph.layers) layer.output = Bytes(0);
    for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(0);
    const Platform platform = flat_platform(2 + random() % 3, 20.0 + random() % 100);
    Asked asked{.update = 12 * static_cast<std::int64_t>(1 + random() % 2), .options = {}, .training = {}};
    if (random() % 2 == 0) asked.update.reset();
    asked.training.gradient_bucket = Bytes(static_cast<std::int64_t>(random() % 300));
    asked.microbatches = 720;
    const Plan plan = planned_with(graph, platform, asked).plan;
    const double claim = plan.predicted.period->value();
    const double evaluated = evaluate_plan(graph, platform, plan).period->value();
    CHECK(evaluated >= claim * (1 - 1e-9));
    CHECK(evaluated <= claim * 1.5);
    replicated += most_replicas(plan) > 1 ? 1 : 0;
    exact += evaluated <= claim * (1 + 1e-9) ? 1 : 0;
  }
  MESSAGE(exact << " of " << cases << " claims are exact");
  CHECK(replicated > cases / 3);
  CHECK(exact > cases / 3);
}

TEST_CASE("pipedream updates: two weight versions mean updates so far apart that two are enough, by hand") {
  // A straight pipeline of four stages has 4, 3, 2, 1 microbatches in flight: 3 rounds. A first stage of two replicas
  // before one has ceil(3 / 2) = 2 in flight, and an exchange of gradients: 2 rounds. One device needs one.
  const GivenOptions two = {{"weight_versions", "2"}, {"straight", "true"}};
  const LayerGraph graph = chain({1, 1, 1, 1});
  const Planned straight = planned_with(graph, flat_platform(4, 1000.0), {{}, two, {}});
  CHECK(straight.plan.rounds_per_update == 3);
  const ScheduleProgram program = require_schedule(graph, flat_platform(4, 1000.0), straight.plan);
  CHECK(program.weight_versions == std::vector<std::int64_t>{2, 2, 2, 1});
  CHECK(largest(stage_updates(graph, program)) == StageUpdates{3 * graph.microbatch_size, 1});
  for (const Stage& stage : straight.plan.stages) CHECK_FALSE(stage.weight_versions.has_value());
  LayerGraph first_cheap = chain({0.5, 1.5, 1});
  first_cheap.layers[LayerId(0)].parameters = first_cheap.layers[LayerId(1)].parameters = Bytes(1);
  first_cheap.layers[LayerId(2)].parameters = Bytes(1'000'000);
  const Planned replicated = planned_with(first_cheap, flat_platform(3, 1000.0),
                                          {{}, {{"weight_versions", "2"}, {"memory_test", "none"}}, {}});
  REQUIRE(replicated.plan.stages.front().replicas.size() == 2);
  CHECK(replicated.plan.rounds_per_update == 2);
  first_cheap.layers[LayerId(0)].parameters = first_cheap.layers[LayerId(1)].parameters = Bytes(0);
  const Planned weightless = planned_with(first_cheap, flat_platform(3, 1000.0),
                                          {{}, {{"weight_versions", "2"}, {"memory_test", "none"}}, {}});
  REQUIRE(weightless.plan.stages.front().replicas.size() == 2);
  CHECK(weightless.plan.rounds_per_update == 1);  // the first stage has nothing to exchange, and no weights
  CHECK(planned_with(graph, flat_platform(1), {{}, two, {}}).plan.rounds_per_update == 1);
  CHECK(planned_with(graph, flat_platform(4), {{}, {{"straight", "true"}}, {}}).plan.rounds_per_update == 1);
}

TEST_CASE("pipedream updates: with two weight versions no order needs a third, random graphs") {
  int at_the_limit = 0;
  for (unsigned seed = 1; seed <= static_cast<unsigned>(random_cases(100)); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const LayerGraph graph = random_graph(seed, 3 + random() % 5);
    const Platform platform = flat_platform(1 + random() % 6, 20.0 + random() % 400);
    const Planned found = planned_with(
        graph, platform, {{}, {{"weight_versions", "2"}, {"memory_test", "none"}, {"use_fewer", "true"}}, {}, 360});
    const ScheduleProgram program = require_schedule(graph, platform, found.plan);
    CHECK(largest(stage_updates(graph, program)).staleness <= 1);
    std::int64_t most = 1;
    const std::int64_t rounds = found.plan.rounds_per_update;
    for (const DeviceOrder& order : program.orders({0, 360}).devices) {
      const StageId stage = program.kept->replicas[program.kept->replicas.on(order.device).front()].stage;
      const bool reduces = found.plan.stages[stage.value()].replicas.size() > 1;
      const std::int64_t counted = counted_versions(order.actions, stage, rounds, reduces);
      CHECK(counted <= 2);
      CHECK(program.weight_versions[stage.value()] <= 2);
      if (rounds > 1) most = std::max(most, counted_versions(order.actions, stage, rounds - 1, reduces));
    }
    // With a round less between updates some stage would need a third version.
    if (rounds > 1) CHECK(most > 2);
    at_the_limit += rounds > 1 ? 1 : 0;
  }
  CHECK(at_the_limit > random_cases(5));
}

TEST_CASE("pipedream updates: samples for which two weight versions are too few are refused with the least number") {
  // As above, four stages need 3 rounds of one microbatch.
  const LayerGraph graph = chain({1, 1, 1, 1});
  const GivenOptions two = {{"weight_versions", "2"}, {"straight", "true"}};
  CHECK_THROWS_WITH_AS((void)run_with(graph, flat_platform(4, 1000.0), {2, two, {}}),
                       doctest::Contains("needs 3 rounds between updates"), InputError);
  CHECK(planned_with(graph, flat_platform(4, 1000.0), {3, two, {}}).plan.rounds_per_update == 3);
  CHECK(planned_with(graph, flat_platform(4, 1000.0), {8, two, {}}).plan.rounds_per_update == 8);
}

}  // namespace stagecraft::pipedream_updates_test
