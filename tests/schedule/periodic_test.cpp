#include "sim/schedule/periodic.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>

namespace stagecraft {
namespace {

using Counts = std::vector<std::int64_t>;
using Resources = std::vector<ChainResource>;

constexpr Ticks kUnit = 1'000'000'000;  // of the specification's vectors

/// Vector M1: stage times of its four layers and one-way transfers behind the first three, in units.
constexpr std::array<Ticks, 4> kForward = {2, 2, 3, 1};
constexpr std::array<Ticks, 4> kBackward = {4, 4, 6, 2};
constexpr std::array<Ticks, 3> kTransfer = {2, 1, 1};

/// The chain of a cut of M1, of the first layers of its stages.
Resources m1(const std::vector<std::size_t>& first, Ticks unit = 1) {
  Resources resources;
  for (std::size_t s = 0; s < first.size(); ++s) {
    if (s > 0) resources.push_back({kTransfer.at(first[s] - 1) * unit, kTransfer.at(first[s] - 1) * unit});
    resources.push_back({0, 0});
    const std::size_t end = s + 1 < first.size() ? first[s + 1] : kForward.size();
    for (std::size_t l = first[s]; l < end; ++l) {
      resources.back().forward += kForward.at(l) * unit;
      resources.back().backward += kBackward.at(l) * unit;
    }
  }
  return resources;
}

Counts stages_of(const Counts& resources) {
  Counts stages;
  for (std::size_t i = 0; i < resources.size(); i += 2) stages.push_back(resources[i]);
  return stages;
}

Resources random_chain(std::mt19937& generator, std::size_t stages, Ticks most) {
  std::uniform_int_distribution<Ticks> draw(0, most);
  Resources resources;
  for (std::size_t i = 0; i < 2 * stages - 1; ++i) {
    const Ticks forward = draw(generator);
    resources.push_back({forward, i % 2 == 1 ? forward : draw(generator)});
  }
  return resources;
}

Ticks largest_load(const Resources& resources) {
  Ticks largest = 1;
  for (const ChainResource& resource : resources) largest = std::max(largest, resource.load());
  return largest;
}

TEST_CASE("periodic: a delay is stacked up to the next period") {
  CHECK(stack_delay(0, 6, 10) == 6);
  CHECK(stack_delay(6, 4, 10) == 10);  // lands on the period: still within it
  CHECK(stack_delay(10, 4, 10) == 14);
  CHECK(stack_delay(6, 5, 10) == 15);
  CHECK(stack_delay(0, 25, 10) == 25);  // longer than the period, as the planners' estimates need it
  CHECK(stack_delay(7, 0, 10) == 7);
  CHECK(in_flight_within(0, 10) == 1);
  CHECK(in_flight_within(10, 10) == 1);
  CHECK(in_flight_within(11, 10) == 2);
}

TEST_CASE("periodic: vector M1, microbatches in flight of each resource") {
  const std::map<Ticks, Counts> groups = {{12, {3, 2, 2, 2, 1}}, {13, {3, 2, 2, 2, 1}}, {14, {3, 2, 2, 1, 1}},
                                          {15, {3, 2, 2, 1, 1}}, {16, {2, 2, 2, 1, 1}}, {19, {2, 2, 2, 1, 1}},
                                          {20, {2, 2, 1, 1, 1}}, {23, {2, 2, 1, 1, 1}}, {24, {2, 1, 1, 1, 1}},
                                          {29, {2, 1, 1, 1, 1}}, {30, {1, 1, 1, 1, 1}}, {31, {1, 1, 1, 1, 1}}};
  const Resources resources = m1({0, 1, 2});
  CHECK_FALSE(star_groups(resources, 11).has_value());
  CHECK_FALSE(star_times(resources, 11).has_value());
  for (const auto& [period, expected] : groups) {
    CAPTURE(period);
    CHECK(*star_groups(resources, period) == expected);
    CHECK(star_times(resources, period)->in_flight == expected);
  }
}

TEST_CASE("periodic: vector M1, starts") {
  const Resources resources = m1({0, 1, 2});
  const std::vector<Ticks> forward = {0, 2, 4, 6, 7};
  const std::map<Ticks, std::vector<Ticks>> backward = {
      {12, {26, 24, 20, 19, 11}}, {14, {30, 24, 20, 19, 11}}, {16, {28, 26, 22, 19, 11}}};
  for (const auto& [period, expected] : backward) {
    CAPTURE(period);
    const StarTimes times = *star_times(resources, period);
    CHECK(times.forward == forward);
    CHECK(times.backward == expected);
  }
  const StarTimes times = *star_times(resources, 14);
  std::vector<Ticks> delays;
  for (std::size_t r = 0; r < resources.size(); ++r) {
    delays.push_back(times.backward[r] - times.forward[r] - resources[r].forward);
  }
  CHECK(delays == std::vector<Ticks>{28, 20, 14, 12, 0});
  // In nanoseconds, as runs have it.
  CHECK(star_times(m1({0, 1, 2}, kUnit), 14 * kUnit)->backward[0] == 30 * kUnit);
}

TEST_CASE("periodic: vector M1, the other cuts") {
  const auto counts = [](const std::vector<std::size_t>& cut, Ticks period) {
    return stages_of(star_times(m1(cut), period)->in_flight);
  };
  for (Ticks period : {12, 13}) CHECK(counts({0, 2, 3}, period) == Counts{3, 2, 1});
  for (Ticks period : {14, 20, 27}) CHECK(counts({0, 2, 3}, period) == Counts{2, 1, 1});
  for (Ticks period : {28, 40}) CHECK(counts({0, 2, 3}, period) == Counts{1, 1, 1});
  for (Ticks period : {12, 13}) CHECK(counts({0, 2}, period) == Counts{3, 1});
  for (Ticks period : {14, 25}) CHECK(counts({0, 2}, period) == Counts{2, 1});
  CHECK(counts({0, 2}, 26) == Counts{1, 1});
}

TEST_CASE("periodic: delays and groups give the same counts") {
  std::mt19937 generator(5);
  int compared = 0;
  for (int i = 0; i < 600; ++i) {
    const Resources resources = random_chain(generator, 1 + generator() % 6, 1 + generator() % 9);
    const Ticks least = largest_load(resources);
    Ticks sum = 1;
    for (const ChainResource& resource : resources) sum += resource.load();
    for (Ticks period = least; period <= sum + 1; period += 1 + static_cast<Ticks>(generator() % 3)) {
      CAPTURE(i);
      CAPTURE(period);
      REQUIRE(star_times(resources, period)->in_flight == *star_groups(resources, period));
      ++compared;
    }
  }
  CHECK(compared > 5000);
}

TEST_CASE("periodic: nothing collides and nothing starts before what it waits for") {
  std::mt19937 generator(6);
  for (int i = 0; i < 300; ++i) {
    const Resources resources = random_chain(generator, 1 + generator() % 6, 1 + generator() % 9);
    const Ticks period = largest_load(resources) + static_cast<Ticks>(generator() % 12);
    const StarTimes times = *star_times(resources, period);
    CAPTURE(i);
    for (std::size_t r = 0; r < resources.size(); ++r) {
      const Ticks delay = times.backward[r] - times.forward[r] - resources[r].forward;
      CHECK(delay % period + resources[r].load() <= period);
      if (r + 1 == resources.size()) continue;
      CHECK(times.forward[r + 1] == times.forward[r] + resources[r].forward);
      CHECK(times.backward[r] >= times.backward[r + 1] + resources[r + 1].backward);
    }
  }
}

/// The fewest microbatches that any schedule has in flight on the first resource, with those of the others at most
/// `counts`: every delay up to a bound is tried, from the last resource to the first.
bool exists_schedule(const Resources& resources, Ticks period, const Counts& counts, std::size_t resource,
                     Ticks least_delay) {
  const Ticks load = resources[resource].load();
  for (Ticks delay = least_delay; delay + load <= period * counts[resource]; ++delay) {
    if (delay % period + load > period) continue;
    if (resource == 0 || exists_schedule(resources, period, counts, resource - 1, delay + load)) return true;
  }
  return false;
}

TEST_CASE("periodic: no schedule has fewer microbatches in flight anywhere") {
  std::mt19937 generator(7);
  int refused = 0;
  for (int i = 0; i < 60; ++i) {
    Resources resources = random_chain(generator, 2, 4);
    for (ChainResource& resource : resources) resource.forward += 1;  // one in flight is the least of any load
    const Ticks period = largest_load(resources) + static_cast<Ticks>(generator() % 4);
    const Counts counts = *star_groups(resources, period);
    CAPTURE(i);
    CHECK(exists_schedule(resources, period, counts, resources.size() - 1, 0));
    for (std::size_t r = 0; r < counts.size(); ++r) {
      Counts fewer(counts.size(), counts.front());  // the others may have as many as the most
      fewer[r] = counts[r] - 1;
      CHECK_FALSE(exists_schedule(resources, period, fewer, resources.size() - 1, 0));
      ++refused;
    }
  }
  CHECK(refused == 180);
}

TEST_CASE("periodic: the least period is that of a scan of all integers") {
  std::mt19937 generator(8);
  int infeasible = 0;
  int above_load = 0;
  for (int i = 0; i < 400; ++i) {
    const Resources resources = random_chain(generator, 1 + generator() % 5, 1 + generator() % 9);
    Counts most;
    for (std::size_t s = 0; s < (resources.size() + 1) / 2; ++s) {
      most.push_back(static_cast<std::int64_t>(generator() % 12 == 0 ? 0 : 1 + generator() % 3));
    }
    const auto fits = [&](std::span<const std::int64_t> counts) {
      for (std::size_t s = 0; s < most.size(); ++s) {
        if (counts[2 * s] > most[s]) return false;
      }
      return true;
    };
    Ticks sum = 1;
    for (const ChainResource& resource : resources) sum += resource.load();
    std::optional<Ticks> expected;
    for (Ticks period = largest_load(resources); period <= sum && !expected; ++period) {
      if (fits(*star_groups(resources, period))) expected = period;
    }
    CAPTURE(i);
    CHECK(least_star_period(resources, fits) == expected);
    if (!expected) ++infeasible;
    if (expected && *expected > largest_load(resources)) ++above_load;
  }
  CHECK(infeasible > 20);
  CHECK(above_load > 100);
}

TEST_CASE("periodic: a chain without any load has the period of a tick") {
  const Resources resources(3);
  CHECK(least_star_period(resources, [](auto) { return true; }) == 1);
  CHECK(star_times(resources, 1)->in_flight == Counts{1, 1, 1});
}

TEST_CASE("periodic: the pattern has each operation at its start modulo the period") {
  const TickPattern pattern = star_pattern(*star_times(m1({0, 1, 2}), 14), 14);
  CHECK(pattern.period == 14);
  // F / B: stage 0 0/30, cut 0 2/24, stage 1 4/20, cut 1 6/19, stage 2 7/11.
  CHECK(pattern.operations == std::vector<TickOperation>{{false, 0, false, 0, 0},
                                                         {true, 0, false, 2, 0},
                                                         {false, 0, true, 2, 2},
                                                         {false, 1, false, 4, 0},
                                                         {true, 1, true, 5, 1},
                                                         {true, 1, false, 6, 0},
                                                         {false, 1, true, 6, 1},
                                                         {false, 2, false, 7, 0},
                                                         {true, 0, true, 10, 1},
                                                         {false, 2, true, 11, 0}});
  const Pattern plain = to_pattern(pattern, true);
  CHECK(plain.timed);
  CHECK(plain.operations[2] == PatternOperation{false, 0, true, Seconds(2e-9), 2});
}

TEST_CASE("periodic: what takes no time comes first, and of that the older microbatch") {
  // One resource; forward and backward both start at 0 of the period.
  const auto order = [](ChainResource resource, Ticks behind) {
    const Resources resources = {resource, {0, 0}, {behind, 0}};
    std::string text;
    for (const TickOperation& o : star_pattern(*star_times(resources, 5), 5).operations) {
      if (!o.is_cut && o.index == 0) text += (o.backward ? "B" : "F") + std::to_string(o.shift) + " ";
    }
    return text;
  };
  CHECK(order({0, 5}, 0) == "F0 B0 ");  // of one microbatch
  CHECK(order({0, 5}, 1) == "F0 B1 ");
  CHECK(order({5, 0}, 0) == "B1 F0 ");
  CHECK(order({0, 0}, 5) == "B1 F0 ");
}

}  // namespace
}  // namespace stagecraft
