#include "planners/shared/turns/level_shares.hpp"

#include "planners/registry.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/model/rotation.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace stagecraft {
namespace {

/// The least longest time of all ways to give `left` turns to the owners from `at` on, each at least one.
double least_longest(const std::vector<double>& times, std::size_t at, std::int64_t left) {
  if (at + 1 == times.size()) return times[at] * static_cast<double>(left);
  double least = 1e300;
  const auto others = static_cast<std::int64_t>(times.size() - at - 1);
  for (std::int64_t own = 1; own <= left - others; ++own) {
    const double rest = least_longest(times, at + 1, left - own);
    least = std::min(least, std::max(rest, times[at] * static_cast<double>(own)));
  }
  return least;
}

double longest(const std::vector<double>& times, const std::vector<std::int64_t>& numbers) {
  double most = 0.0;
  for (std::size_t i = 0; i < times.size(); ++i) most = std::max(most, times[i] * static_cast<double>(numbers[i]));
  return most;
}

TEST_CASE("level shares: no other numbers and no other turns end earlier, 500 random speeds") {
  std::mt19937 random(7);
  for (std::uint32_t seed = 1; seed <= testing::random_cases(500U); ++seed) {
    CAPTURE(seed);
    std::vector<double> times(1 + random() % 4);
    for (double& time : times) time = static_cast<double>(1 + random() % 30) / 7.0;
    const std::int64_t turns = std::ssize(times) + static_cast<std::int64_t>(random() % 20);
    const double least = least_longest(times, 0, turns);
    const std::vector<std::int64_t> numbers = level_numbers(times, turns);
    CHECK(std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0}) == turns);
    CHECK(std::ranges::min(numbers) >= 1);
    CHECK(longest(times, numbers) == doctest::Approx(least));

    const std::vector<std::int64_t> shares = level_shares(times, turns);
    const Rotation rotation = shares.empty() ? Rotation(std::ssize(times)) : Rotation(shares);
    std::vector<std::int64_t> taken;
    for (std::uint32_t owner = 0; owner < times.size(); ++owner) taken.push_back(rotation.count(owner, turns));
    CHECK(longest(times, taken) == doctest::Approx(least));
  }
}

TEST_CASE("level shares: the fewest turns in a round that do, and none where equal ones do") {
  CHECK(level_shares({1.0, 2.0}, 1000) == std::vector<std::int64_t>{2, 1});
  CHECK(level_shares({1.0, 1.0}, 1000).empty());
  CHECK(level_shares({1.0, 1.5}, 2).empty());
}

/// A device for each slowdown, on equal links.
Platform unequal(const std::vector<double>& slowdowns, Bytes memory = Bytes(1'000'000)) {
  Platform platform = testing::flat_platform(slowdowns.size(), 1e9, memory);
  for (std::size_t i = 0; i < slowdowns.size(); ++i) platform.devices[DeviceId(i)].slowdown = slowdowns[i];
  return platform;
}

Planned planned_with(const std::string& planner, const std::string& schedule, const LayerGraph& graph,
                     const Platform& platform, std::int64_t microbatches) {
  const PlannerInfo& info = find_planner(planner);
  const PlanRequest request{graph, platform, {schedule, {}}, microbatches, {}, parse_options(info, {})};
  return with_level_shares(request, std::get<Planned>(info.plan(request)));
}

TEST_CASE("level shares: 24 microbatches of 15 s on one device and of 30 s on the other take 240 s, not 360") {
  const LayerGraph graph = testing::chain({5});
  const Platform platform = unequal({1.0, 2.0});
  for (const char* schedule : {"1f1b", "gpipe", "eager-1f1b"}) {
    CAPTURE(schedule);
    const Planned planned = planned_with("data-parallel", schedule, graph, platform, 24);
    CHECK(planned.plan.stages.front().shares == std::vector<std::int64_t>{2, 1});
    CHECK(planned.plan.predicted.iteration_time->value() == doctest::Approx(240.0));
    CHECK(evaluate_plan(graph, platform, planned.plan).iterations.back().value() == doctest::Approx(240.0));
    CHECK(planned.notes.size() == 1);
  }
}

TEST_CASE("level shares: replicas of a position keep together where all stages have them") {
  // Both stages on a fast and on a slow device, though the ratios differ: 2 and 1.5.
  const LayerGraph graph = testing::chain({5, 5});
  const Platform platform = unequal({1.0, 2.0, 1.0, 1.5});
  Plan plan;
  plan.microbatch_size = graph.microbatch_size;
  plan.microbatches = 24;
  plan.schedule.name = "1f1b";
  plan.stages.resize(2);
  for (std::size_t s = 0; s < 2; ++s) {
    plan.stages[s].layers = {LayerId(s)};
    plan.stages[s].replicas = {DeviceId(2 * s), DeviceId(2 * s + 1)};
  }
  const PlanRequest request{graph, platform, plan.schedule, 24, {}, parse_options(find_planner("uniform"), {})};
  const Plan level = with_level_shares(request, {plan, {}}).plan;
  const auto time = [&](const Plan& of) { return evaluate_plan(graph, platform, of).iterations.back(); };
  CHECK(time(level) < time(plan));
  CHECK(level.predicted.iteration_time == time(level));
  for (std::int64_t first = 1; first <= 4; ++first) {  // none of the same shares for both is faster
    Plan other = plan;
    other.stages[0].shares = other.stages[1].shares = {first, 1};
    CHECK(time(level) <= time(other) * (1.0 + 1e-12));
  }
}

TEST_CASE("level shares: equal devices, asynchronous schedules and too little memory leave the plan as it is") {
  const LayerGraph graph = testing::chain({5});
  const auto shares = [&](const char* schedule, const Platform& platform) {
    return planned_with("data-parallel", schedule, graph, platform, 24).plan.stages.front().shares;
  };
  CHECK(shares("1f1b", unequal({2.0, 2.0})).empty());
  CHECK(shares("pipedream", unequal({1.0, 2.0})).empty());
  // gpipe keeps 12 or 16 stashes of 10 B beside 4 copies of 100 B.
  CHECK(shares("gpipe", unequal({1.0, 2.0}, Bytes(560))) == std::vector<std::int64_t>{2, 1});
  CHECK(shares("gpipe", unequal({1.0, 2.0}, Bytes(559))).empty());
}

}  // namespace
}  // namespace stagecraft
