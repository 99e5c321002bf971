// A bound that looks at few microbatches is that of all of them.

#include "sim/analytic/representatives.hpp"

#include "sim/analytic/evaluate_plan.hpp"
#include "sim/analytic/iteration_bound.hpp"
#include "sim/analytic/lower_bound.hpp"
#include "sim/analytic/sampled_run.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/measured_part.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/analytic/bound_cases.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/some_microbatches.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

namespace stagecraft {
namespace {

using testing::BoundCase;

/// The bound of an iteration in which every microbatch stands for itself.
LowerBound bound_of_all(const BoundCase& of, const ScheduleProgram& program, bool shares_links) {
  const Plan& plan = program.kept->plan;
  SampledRun all(of.random.platform, program.kept->replicas, {Representatives(plan.microbatches), true});
  const LoweredRun run = lower(of.random.graph, of.random.platform, program, of.options);
  while (const std::optional<OpGraph> window = run.source.next({})) all.add(*window);
  return iteration_bound(all, plan.microbatches, program.in_flight, shares_links);
}

/// The microbatches after which turns, memory actions and updates of the plan repeat.
std::int64_t repetition(const KeptPlan& kept) {
  std::int64_t repeated = whole_round(kept.plan, kept.replicas);
  for (const Stage& stage : kept.plan.stages) repeated = std::lcm(repeated, round_of(kept.replicas) * window_of(stage));
  return repeated;
}

}  // namespace

TEST_CASE("representatives: the bound of an iteration is the one from all its microbatches, 1000 plans") {
  int compared = 0;
  int with_windows = 0;
  for (std::uint32_t seed = 1; compared < testing::random_cases(1000); ++seed) {
    CAPTURE(seed);
    BoundCase made = testing::BoundCases::make(seed);
    CAPTURE(made.family());
    Plan& plan = made.random.plan;
    if (made.options.literal || !require_family(made.family()).synchronous) continue;
    const bool some = seed % 3 == 0 && testing::cover_some(plan, seed);
    plan.microbatches *= 1 + seed % 5;
    const ScheduleProgram program = require_schedule(made.random.graph, made.random.platform, plan);
    if (!program.strict) continue;
    ++compared;
    if (some) ++with_windows;
    for (const bool shares_links : {false, true}) {
      const auto bound = lower_bound(made.random.graph, made.random.platform, program, {made.options, shares_links});
      REQUIRE(bound);
      CHECK(bound->time.value() ==
            doctest::Approx(bound_of_all(made, program, shares_links).time.value()).epsilon(1e-12));
    }
  }
  CHECK(with_windows > testing::random_cases(100));
}

// Stages of two and of three replicas take turns, and some share devices of different speeds, so the last backward of a
// replica may be that of a microbatch far from both ends.
TEST_CASE("representatives: the bound is the one from all microbatches where backwards run out of turn, 300 plans") {
  int out_of_turn = 0;
  for (std::uint32_t seed = 1; seed <= testing::random_cases(300U); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    BoundCase made{
        {testing::chain(3, 0.6, 3, 1, 0, 100), testing::pairwise(5, 20, 0), testing::straight(3, 0, "spp-pe")}, {}, {}};
    for (const DeviceId id : indices(made.random.platform.devices)) {
      made.random.platform.devices[id].slowdown = std::array{0.5, 1.0, 2.0}.at(random() % 3);
    }
    Plan& plan = made.random.plan;
    plan.microbatches = 15 + random() % 20;
    for (Stage& stage : plan.stages) {
      std::vector<std::uint32_t> devices{0, 1, 2, 3, 4};
      std::ranges::shuffle(devices, random);
      devices.resize(2 + random() % 2);
      stage.replicas.assign(devices.size(), DeviceId(0));
      for (std::size_t i = 0; i < devices.size(); ++i) stage.replicas[i] = {DeviceId(devices[i])};
    }
    const ScheduleProgram program = require_schedule(made.random.graph, made.random.platform, plan);
    BoundFold fold(made.random.platform, program);
    const LoweredRun run = lower(made.random.graph, made.random.platform, program);
    while (const std::optional<OpGraph> window = run.source.next({})) fold.add(*window);
    if (fold.needs_all()) ++out_of_turn;
    const auto bound = lower_bound(made.random.graph, made.random.platform, program, {made.options, false});
    REQUIRE(bound);
    CHECK(bound->time.value() == doctest::Approx(bound_of_all(made, program, false).time.value()).epsilon(1e-12));
    CHECK(bound->time.value() <=
          evaluate_iteration(made.random.graph, made.random.platform, program).value() * (1 + 1e-9));
  }
  CHECK(out_of_turn > 0);
}

TEST_CASE("representatives: the bound of a period does not depend on the length of the run, 300 plans") {
  int compared = 0;
  for (std::uint32_t seed = 1; compared < testing::random_cases(300); ++seed) {
    CAPTURE(seed);
    BoundCase made = testing::BoundCases::make(seed);
    Plan& plan = made.random.plan;
    if (require_family(made.family()).synchronous) continue;
    if (seed % 2 == 0 && made.family() == "pipedream") testing::cover_some(plan, seed);
    std::optional<LowerBound> bounds[2];
    const std::int64_t repeated = repetition({made.random.graph, made.random.platform, plan});
    if (repeated > 1000) continue;
    for (int i = 0; i < 2; ++i) {
      plan.microbatches = (400 / repeated + 1) * repeated * (1 + 2 * i);
      const ScheduleProgram program = require_schedule(made.random.graph, made.random.platform, plan);
      bounds[i] = lower_bound(made.random.graph, made.random.platform, program, {made.options, false});
      REQUIRE(bounds[i]);
    }
    ++compared;
    CHECK(bounds[1]->time.value() == doctest::Approx(bounds[0]->time.value()).epsilon(1e-12));
  }
}

TEST_CASE("representatives: each stands for the microbatches that take its turns and have its memory actions") {
  // Stage 0 has two replicas that recompute the first of every three of their microbatches, stage 1 one that swaps the
  // first two of every four.
  Plan plan = testing::straight(2, 50, "1f1b");
  plan.stages[0].replicas = {DeviceId(0), DeviceId(2)};
  plan.stages[0].memory = {Recompute{{LayerId(0)}, {1, 3}}};
  plan.stages[1].memory = {Swap{{LayerId(1)}, false, {2, 4}}};
  const Replicas replicas(plan);
  const Representatives found = Representatives::of_iteration(plan, replicas);
  const auto are_alike = [](std::uint32_t a, std::uint32_t b) {
    return a % 2 == b % 2 && (a / 2 % 3 < 1) == (b / 2 % 3 < 1) && (a % 4 < 2) == (b % 4 < 2);
  };
  const auto counts = found.counts(plan.microbatches);
  std::int64_t sum = 0;
  for (std::uint32_t k = 0; k < 50; ++k) {
    const bool is_at_an_end = k < 2 || k >= 48;
    bool is_first = true;
    std::int64_t alike = 0;
    for (std::uint32_t other = 2; other < 48; ++other) {
      if (!are_alike(k, other)) continue;
      ++alike;
      if (other < k) is_first = false;
    }
    CAPTURE(k);
    CHECK(found.has(k) == (is_at_an_end || is_first));
    if (!found.has(k)) continue;
    CHECK(found.count(k, counts) == (is_at_an_end ? 1 : alike));
    sum += found.count(k, counts);
  }
  CHECK(sum == 50);
}

}  // namespace stagecraft
