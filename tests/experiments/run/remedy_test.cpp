#include "experiments/run/remedy.hpp"

#include "experiments/run/judge.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/planners/saving_fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <string>

namespace stagecraft {
namespace {

/// Four layers of 100 bytes of parameters, a stash of 60 bytes of which 10 are left by recomputing, two stages.
struct Case {
  Inputs inputs;
  LayerGraph graph = testing::chain({1, 1, 1, 1});
  Plan plan;
  explicit Case(Bytes memory, const std::string& schedule = "1f1b") {
    graph.microbatch_size = 8;
    for (Layer& layer : graph.layers) layer.stash = Bytes(60);
    inputs.model.profiles = {graph};
    inputs.platform = testing::flat_platform(2, 100.0, memory);
    plan.schedule = {schedule, {}};
    plan.microbatch_size = 8;
    plan.microbatches = 4;
    plan.stages.resize(2);
    plan.stages[0].layers = {LayerId(0), LayerId(1)};
    plan.stages[0].replicas = {DeviceId(0)};
    plan.stages[1].layers = {LayerId(2), LayerId(3)};
    plan.stages[1].replicas = {DeviceId(1)};
  }
  [[nodiscard]] ScheduleProgram program() const { return require_schedule(graph, inputs.platform, plan); }
  [[nodiscard]] Remedies remedies() const {
    return find_remedies(inputs, graph, program(), evaluate_plan(graph, inputs.platform, plan));
  }
};

}  // namespace

// Stage 0 holds 4 · 200 bytes of parameters, gradients and optimizer, two buffers of 10 bytes, and two stashes of 120:
// 1060 bytes; stage 1 holds one stash less: 940.
TEST_CASE("remedies: each is the smallest change, worked out by hand") {
  const Remedies remedies = Case(Bytes(1000)).remedies();
  CHECK(remedies.memory == Bytes(1060));
  // With s of 8 samples: 800 + 2 · ⌈10 s / 8⌉ + 2 · 2 · ⌈60 s / 8⌉ is 800 + 16 + 180 for 6, 800 + 18 + 212 for 7.
  CHECK(remedies.microbatch_size == 6);
  CHECK(remedies.in_flight == std::vector<std::pair<StageId, std::int64_t>>{{StageId(0), 1}});
  // Recomputed by layer: two checkpoints of 10 bytes each, twice, and 60 bytes made again: 920.
  CHECK(remedies.recompute_layers);
  CHECK(remedies.recompute_stages);
}

// Each replica holds 4 · 400 bytes of parameters and its half of the stash: 1600 + 4 · ⌈60 s / 8⌉ / 2 with s of 8
// samples: 1706 for 7, 1690 for 6. A single sample cannot be divided.
TEST_CASE("remedies: a microbatch that is divided keeps a sample for each replica") {
  Case split(Bytes(1700));
  split.plan.stages.resize(1);
  split.plan.stages[0].layers = {LayerId(0), LayerId(1), LayerId(2), LayerId(3)};
  split.plan.stages[0].replicas = {DeviceId(0), DeviceId(1)};
  split.plan.stages[0].replication = Replication::Split;
  CHECK(split.remedies().microbatch_size == 6);
}

TEST_CASE("remedies: what does not help is not named") {
  const Remedies cramped = Case(Bytes(810)).remedies();  // 820 bytes without any stash
  CHECK(cramped.memory == Bytes(1060));
  CHECK_FALSE(cramped.microbatch_size.has_value());  // one sample: 800 + 2 · 2 + 2 · 2 · 8
  CHECK(cramped.in_flight.empty());
  CHECK_FALSE(cramped.recompute_layers);
  CHECK(Case(Bytes(1100)).remedies() == Remedies{});
  // GPipe keeps all four in flight whatever the cap: 820 + 480 bytes.
  const Remedies gpipe = Case(Bytes(1200), "gpipe").remedies();
  CHECK(gpipe.memory == Bytes(1300));
  CHECK(gpipe.in_flight.empty());
}

TEST_CASE("remedies: an asynchronous plan is judged by its long run, whatever its own length") {
  Case longer(Bytes(1000), "pipedream");
  Case shorter(Bytes(1000), "pipedream");
  shorter.plan.microbatches = 24;
  longer.plan.microbatches = 60;
  const Remedies remedies = shorter.remedies();
  REQUIRE(remedies.tried.size() > 1);
  const Remedies of_longer = longer.remedies();
  CHECK(std::ranges::equal(remedies.tried, of_longer.tried, [](const TriedChange& one, const TriedChange& other) {
    return one.change == other.change && one.throughput == other.throughput;
  }));
  // With more memory the plan runs as it is.
  const auto memory = std::ranges::find(remedies.tried, Change::Memory, &TriedChange::change);
  REQUIRE(memory != remedies.tried.end());
  const Report run = evaluate_until_converged(shorter.graph, shorter.inputs.platform, shorter.program());
  CHECK(memory->throughput == run.throughput);
  for (std::size_t i = 1; i < remedies.tried.size(); ++i) {
    CHECK(remedies.tried[i - 1].throughput >= remedies.tried[i].throughput);
  }
  // With a length of its own the run is not extended.
  const Report report = evaluate_plan(shorter.graph, shorter.inputs.platform, shorter.plan);
  const Remedies given = find_remedies(shorter.inputs, shorter.graph, shorter.program(), report, {}, 60);
  const auto of_given = std::ranges::find(given.tried, Change::Memory, &TriedChange::change);
  REQUIRE(of_given != given.tried.end());
  CHECK(of_given->throughput == evaluate_plan(longer.graph, longer.inputs.platform, longer.plan).throughput);
}

TEST_CASE("remedies: nothing is tried where a host lacks memory, of which the ledger knows nothing") {
  const Case lacking(Bytes(1000));
  Report report = evaluate_plan(lacking.graph, lacking.inputs.platform, lacking.plan);
  report.overflows.push_back({PlaceId(lacking.inputs.platform.devices.size()), Seconds(0), Bytes(1)});
  CHECK(find_remedies(lacking.inputs, lacking.graph, lacking.program(), report) == Remedies{});
}

TEST_CASE("remedies: the plan fits when it is changed so, and not by one less") {
  const Case lacking(Bytes(1000));
  const auto lacks = [&](const Plan& plan, const Platform& platform) {
    return evaluate_plan(lacking.graph, platform, plan).out_of_memory();
  };
  const Remedies remedies = lacking.remedies();
  CHECK(lacks(lacking.plan, lacking.inputs.platform));
  CHECK_FALSE(lacks(lacking.plan, with_memory(lacking.inputs.platform, *remedies.memory)));
  CHECK(lacks(lacking.plan, with_memory(lacking.inputs.platform, *remedies.memory - Bytes(1))));
  Plan capped = lacking.plan;
  for (const auto& [stage, cap] : remedies.in_flight) capped.stages[stage.value()].in_flight = cap;
  CHECK_FALSE(lacks(capped, lacking.inputs.platform));
  Plan recomputed = lacking.plan;
  recomputed.stages[0].memory = {Recompute{{LayerId(0)}}, Recompute{{LayerId(1)}}};
  CHECK_FALSE(lacks(recomputed, lacking.inputs.platform));
}

// The three plans are changed here by hand. Stage 0 alone lacks memory.
TEST_CASE("remedies: each change is tried, and the fastest is named first") {
  const Case lacking(Bytes(1000));
  const auto rate = [&](const LayerGraph& graph, const Plan& plan) {
    return 4.0 * static_cast<double>(plan.microbatch_size) /
           evaluate_plan(graph, lacking.inputs.platform, plan).iterations.back().value();
  };
  std::map<Change, double> rates{{Change::Memory, rate(lacking.graph, lacking.plan)}};
  std::map<Change, std::optional<Plan>> plans{{Change::Memory, std::nullopt}};
  const auto add = [&](Change change, const LayerGraph& graph, const Plan& plan) {
    plans[change] = plan;
    rates[change] = rate(graph, plan);
  };
  Plan plan = lacking.plan;
  plan.stages[0].in_flight = 1;
  add(Change::InFlight, lacking.graph, plan);
  plan = lacking.plan;
  plan.stages[0].memory = {Recompute{{LayerId(0)}}, Recompute{{LayerId(1)}}};
  add(Change::RecomputeLayers, lacking.graph, plan);
  plan.stages[0].memory = {Recompute{{LayerId(0), LayerId(1)}}};
  add(Change::RecomputeStages, lacking.graph, plan);
  plan = lacking.plan;
  plan.microbatch_size = 6;
  add(Change::MicrobatchSize, profile_at(lacking.inputs.model, 6, StashConvention::Autograd, [](const std::string&) {}),
      plan);

  Case predicted = lacking;  // which holds for no changed plan
  predicted.plan.predicted.iteration_time = Seconds(1);
  const Remedies remedies = predicted.remedies();
  REQUIRE(remedies.tried.size() == rates.size());
  for (std::size_t i = 0; i < remedies.tried.size(); ++i) {
    const TriedChange& tried = remedies.tried[i];
    CHECK(tried.throughput == doctest::Approx(rates.at(tried.change)).epsilon(1e-12));
    CHECK(tried.plan == plans.at(tried.change));
    if (i > 0) CHECK(*tried.throughput <= *remedies.tried[i - 1].throughput);
  }
  CHECK(remedies.tried.front().change == Change::Memory);
  // One microbatch at a time takes both stages 4 · 12 s; recomputing costs stage 0 two seconds of each eight.
  CHECK(remedies.tried.back().change == Change::InFlight);
}

TEST_CASE("remedies: swapping is named where there are hosts, and they hold what is swapped") {
  // All four microbatches are in flight: 820 + 480 bytes. With swaps two of them are on the device: 820 + 240.
  Case lacking(Bytes(1200), "gpipe");
  CHECK_FALSE(lacking.remedies().swap);
  lacking.inputs.platform = testing::swapping_platform(2, Bytes(1200), 100.0);
  const Remedies remedies = lacking.remedies();
  CHECK(remedies.swap);
  Plan plan = lacking.plan;
  plan.stages[0].memory = {Swap{{LayerId(0)}}, Swap{{LayerId(1)}}};
  plan.stages[1].memory = {Swap{{LayerId(2)}}, Swap{{LayerId(3)}}};
  const Report report = evaluate_plan(lacking.graph, lacking.inputs.platform, plan);
  CHECK_FALSE(report.out_of_memory());
  const auto tried = std::ranges::find(remedies.tried, Change::Swap, &TriedChange::change);
  REQUIRE(tried != remedies.tried.end());
  CHECK(tried->throughput == report.throughput);
  // A host that holds one byte less than is swapped there.
  REQUIRE(!report.hosts.empty());
  const Bytes held = report.hosts.front().memory.peak;
  CHECK(held > Bytes(0));
  for (const std::int64_t less : {0, 1}) {
    lacking.inputs.platform = testing::swapping_platform(2, Bytes(1200), 100.0, held - Bytes(less));
    CHECK(lacking.remedies().swap == (less == 0));
  }
}

TEST_CASE("remedies: each changed plan breaks no rule and fits, whatever the plan, its schedule and its devices") {
  std::map<Change, int> fitted;
  for (unsigned seed = 0; seed < testing::random_cases(400U); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::array<const char*, 4> schedules{"1f1b", "gpipe", "pipedream", "eager-1f1b"};
    Case lacking(Bytes(1'000'000), schedules.at(seed % schedules.size()));
    lacking.graph = testing::varied_chain(seed, 4);
    lacking.graph.microbatch_size = 8;
    lacking.inputs.model.profiles = {lacking.graph};
    lacking.plan.microbatches = 40;
    if (random() % 3 == 0) lacking.plan.stages[0].memory = {Swap{{LayerId(1)}}};
    if (random() % 3 == 0) lacking.plan.stages[1].memory = {Recompute{{LayerId(2), LayerId(3)}}};
    const auto on = [&](Bytes memory) { return testing::swapping_platform(2, memory, seed % 2 == 0 ? 1e4 : 20.0); };
    lacking.inputs.platform = on(Bytes(1'000'000));
    const Report report = evaluate_plan(lacking.graph, lacking.inputs.platform, lacking.plan);
    Bytes most{0};
    for (const DeviceReport& device : report.devices) most = std::max(most, device.memory.peak);
    lacking.inputs.platform = on(Bytes(most.value() * static_cast<std::int64_t>(60 + random() % 40) / 100));
    for (const TriedChange& tried : lacking.remedies().tried) {
      if (!tried.plan) continue;
      const LayerGraph graph = profile_at(lacking.inputs.model, tried.plan->microbatch_size, StashConvention::Autograd,
                                          [](const std::string&) {});
      const Judgement judged = judge_plan(graph, lacking.inputs.platform, {*tried.plan, {}});
      REQUIRE(judged.program.has_value());
      CHECK(judge_run(graph, lacking.inputs.platform, *judged.program).empty());
      const Report run = evaluate_until_converged(graph, lacking.inputs.platform, *judged.program);
      CHECK_FALSE(run.out_of_memory());
      CHECK(tried.throughput == run.throughput);
      ++fitted[tried.change];
    }
  }
  CHECK(fitted.size() == 5);  // all but more memory, of which there is no plan
}

TEST_CASE("remedies: the plans of a long run are not tried") {
  Case lacking(Bytes(1000));
  lacking.plan.microbatches = 300'000;
  const Remedies remedies = lacking.remedies();
  REQUIRE(remedies.tried.size() == 5);
  for (const TriedChange& tried : remedies.tried) {
    CHECK_FALSE(tried.throughput.has_value());
    CHECK(tried.plan.has_value() == (tried.change != Change::Memory));
  }
}

TEST_CASE("largest_between: the last number that holds") {
  for (std::int64_t last = 0; last < 20; ++last) {
    const auto found = largest_between(1, 20, [&](std::int64_t value) { return value <= last; });
    CHECK(found == (last == 0 ? std::nullopt : std::optional(last)));
  }
  CHECK(largest_between(1, 1, [](std::int64_t) { return true; }) == std::nullopt);
}

}  // namespace stagecraft
