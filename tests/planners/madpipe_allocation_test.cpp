#include "planners/madpipe/allocation.hpp"
#include "planners/madpipe/allocation_search.hpp"
#include "planners/madpipe/lattice.hpp"
#include "tests/planners/madpipe_chains.hpp"
#include "tests/planners/madpipe_recurrence.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

namespace stagecraft::madpipe_allocation_test {
namespace {

using namespace stagecraft::testing;
using madpipe::Allocation;
using madpipe::AllocationSettings;
using madpipe::SpecialMemory;

constexpr Ticks kUnit = 1'000'000'000;

AllocationSettings exact(SpecialMemory memory = SpecialMemory::Optimistic) {
  AllocationSettings settings;
  settings.exact_states = true;
  settings.special_memory = memory;
  return settings;
}

std::optional<Allocation> last_found(const Chain& chain, const AllocationSettings& settings) {
  const std::vector<Allocation> found = madpipe::trace_search(chain, settings).found;
  return found.empty() ? std::nullopt : std::optional(found.back());
}

/// `{1}s {2}n`: the layers of each stage, counted from 1, on the special or on a normal device.
std::string show(const Allocation& allocation) {
  std::ostringstream text;
  for (const ChainStage& stage : allocation.stages) {
    text << (text.tellp() > 0 ? " {" : "{") << stage.begin + 1;
    for (std::size_t layer = stage.begin + 1; layer < stage.end; ++layer) text << ',' << layer + 1;
    text << '}' << (stage.device == allocation.special_device ? 's' : 'n');
  }
  return text.str();
}

using StageTuples = std::vector<std::tuple<std::size_t, std::size_t, bool>>;

StageTuples tuples(const Allocation& allocation) {
  StageTuples stages;
  for (const ChainStage& stage : allocation.stages) {
    stages.emplace_back(stage.begin, stage.end, stage.device == allocation.special_device);
  }
  return stages;
}

double seconds(Ticks ticks) { return to_seconds(ticks).value(); }

const std::vector<SpecialMemory> kBoth{SpecialMemory::Optimistic, SpecialMemory::Safe};

TEST_CASE("MadPipe phase 1: M1 of the specification") {
  const Chain chain = madpipe_m1(60).chain();
  const auto at_8 = madpipe::AllocationSolver(chain, exact()).solve(8 * kUnit);
  REQUIRE(at_8);
  CHECK(at_8->bottleneck == 9 * kUnit);
  CHECK(at_8->period() == 9 * kUnit);
  CHECK(show(*at_8) == "{1}s {2}n {3}n {4}s");
  CHECK(at_8->in_flight == std::vector<std::int64_t>{6, 4, 3, 1});
  CHECK(at_8->special_device == 0U);
  CHECK(at_8->stages == std::vector<ChainStage>{{0, 1, 0}, {1, 2, 1}, {2, 3, 2}, {3, 4, 0}});
  const auto at_9 = madpipe::AllocationSolver(chain, exact()).solve(9 * kUnit);
  REQUIRE(at_9);
  CHECK(at_9->in_flight == std::vector<std::int64_t>{5, 3, 2, 1});
  CHECK(show(*at_9) == "{1}s {2}n {3}n {4}s");
}

TEST_CASE("MadPipe Algorithm 1: M1 of the specification") {
  const auto search = [](std::int64_t memory) { return last_found(madpipe_m1(memory).chain(), exact()); };
  const auto ample = search(60);
  REQUIRE(ample);
  CHECK(ample->period() == 9 * kUnit);
  CHECK(show(*ample) == "{1}s {2}n {3}n {4}s");
  const auto at_50 = search(50);
  REQUIRE(at_50);
  CHECK(at_50->period() == 9 * kUnit);
  CHECK(show(*at_50) == "{1}n {2}s {3}n {4}s");
  const auto at_45 = search(45);
  REQUIRE(at_45);
  CHECK(seconds(at_45->period()) == doctest::Approx(9.0039).epsilon(1e-5));
  CHECK(show(*at_45) == "{1}n {2}s {3}n {4}s");
  const auto at_40 = search(40);
  REQUIRE(at_40);
  CHECK(at_40->period() == 12 * kUnit);
  CHECK(show(*at_40) == "{1}n {2}n {3}s {4}s");
  CHECK(madpipe::merge_adjacent(at_40->stages) == std::vector<ChainStage>{{0, 1, 0}, {1, 2, 1}, {2, 4, 2}});
}

TEST_CASE("MadPipe phase 1: M2 of the specification, for each T^") {
  const Chain chain = madpipe_m2().chain();
  for (SpecialMemory memory : kBoth) {
    for (Ticks target = 12; target <= 17; ++target) {
      CAPTURE(target);
      const auto found = madpipe::AllocationSolver(chain, exact(memory)).solve(target * kUnit);
      REQUIRE(found);
      CHECK(found->bottleneck == 14 * kUnit);
      CHECK(show(*found) == "{1}s {2,3,4}n {5}s");
      if (target < 14) continue;
      CHECK(found->in_flight == std::vector<std::int64_t>{3, 2, 1});
    }
    for (Ticks target = 18; target <= 21; ++target) {
      CAPTURE(target);
      const auto found = madpipe::AllocationSolver(chain, exact(memory)).solve(target * kUnit);
      REQUIRE(found);
      CHECK(found->bottleneck == 12 * kUnit);
      CHECK(found->period() == target * kUnit);
    }
  }
}

TEST_CASE("MadPipe Algorithm 1: M2 of the specification") {
  const Chain chain = madpipe_m2().chain();
  for (SpecialMemory memory : kBoth) {
    const madpipe::AllocationSearch search = madpipe::trace_search(chain, exact(memory));
    REQUIRE_FALSE(search.found.empty());
    CHECK(search.found.back().period() == 14 * kUnit);
    CHECK(show(search.found.back()) == "{1}s {2,3,4}n {5}s");
    REQUIRE(search.steps.size() == 10);
    CHECK(search.steps[0].target == 12 * kUnit);
    CHECK(search.steps[0].bottleneck == 14 * kUnit);
    CHECK(search.steps[1].target == 13 * kUnit);
    CHECK(search.steps[2].target == 13 * kUnit + kUnit / 2);
    for (std::size_t i = 0; i < search.steps.size(); ++i) {  // only the first is better than what came before
      CHECK(search.steps[i].bottleneck.has_value() == (i == 0));
      CHECK(madpipe::AllocationSolver(chain, exact(memory)).solve(search.steps[i].target)->bottleneck == 14 * kUnit);
    }
  }
  AllocationSettings grid;
  const auto rounded = last_found(chain, grid);
  REQUIRE(rounded);
  CHECK(rounded->period() == 14'160'000'000);
  CHECK(show(*rounded) == "{1}s {2,3,4}n {5}s");
}

TEST_CASE("MadPipe phase 1: M4 of the specification") {
  const Chain chain = madpipe_m4().chain();
  const auto optimistic = last_found(chain, exact());
  REQUIRE(optimistic);
  CHECK(optimistic->bottleneck == 10 * kUnit);
  CHECK(show(*optimistic) == "{1}n {2}s {3}n {4}s");
  const auto safe = last_found(chain, exact(SpecialMemory::Safe));
  REQUIRE(safe);
  CHECK(seconds(safe->period()) == doctest::Approx(13.0059).epsilon(1e-5));
}

/// Small numbers, so that ties and zeros are common.
MadPipeInstance random_instance(std::mt19937_64& random, std::size_t most_layers) {
  const auto up_to = [&](std::uint64_t most) { return static_cast<std::int64_t>(random() % (most + 1)); };
  MadPipeInstance instance;
  const std::size_t layers = 1 + random() % most_layers;
  const double unit = random() % 2 == 0 ? 1.0 : 1e-9;
  for (std::size_t i = 0; i < layers; ++i) {
    instance.forward.push_back(static_cast<double>(up_to(4)) * unit);
    instance.backward.push_back(static_cast<double>(up_to(6)) * unit);
    instance.parameters.push_back(up_to(4));
    instance.outputs.push_back(up_to(6));
    instance.workspace.push_back(up_to(3));
  }
  instance.outputs.push_back(up_to(6));
  instance.devices = 1 + random() % 5;
  instance.memory = up_to(20 + 10 * layers);
  instance.beta = static_cast<double>(1 + up_to(5)) / unit;
  return instance;
}

AllocationSettings random_settings(std::mt19937_64& random) {
  AllocationSettings settings = exact(random() % 2 == 0 ? SpecialMemory::Optimistic : SpecialMemory::Safe);
  if (random() % 2 == 0) return settings;
  settings.exact_states = false;
  for (int& points : settings.grid) points = 2 + static_cast<int>(random() % 20);
  return settings;
}

struct Comparison {
  int feasible = 0;
  int infeasible = 0;
  int with_many = 0;  // several stages on the special device, not all next to one another
};

void compare(const Chain& chain, const AllocationSettings& settings, Comparison& counts) {
  madpipe::AllocationSolver solver(chain, settings);
  const Ticks total = chain.load(0, chain.size());
  for (const Ticks target : {std::max<Ticks>(1, total / chain.device_count()), total / 2 + 1, total + 1}) {
    NaiveRecurrence naive(chain, settings, target);
    const std::optional<Allocation> found = solver.solve(target);
    REQUIRE((found ? found->bottleneck : NaiveRecurrence::kInfinite) == naive.value());
    (found ? counts.feasible : counts.infeasible) += 1;
    if (!found) continue;
    REQUIRE(tuples(*found) == naive.plan());
    CHECK_FALSE(solver.solve(target, found->period()));
    const auto again = solver.solve(target, found->period() + 1);
    REQUIRE(again);
    CHECK(again->stages == found->stages);
    const auto special = [&](const ChainStage& stage) { return stage.device == found->special_device; };
    const auto merged = madpipe::merge_adjacent(found->stages);
    counts.with_many += std::ranges::count_if(merged, special) > 1 ? 1 : 0;
  }
}

TEST_CASE("MadPipe phase 1 equals its recurrence, value and plan, on random chains") {
  Comparison counts;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const Chain chain = random_instance(random, 7).chain();
    compare(chain, random_settings(random), counts);
  }
  CHECK(counts.feasible > 1500);
  CHECK(counts.infeasible > 300);
  CHECK(counts.with_many > 150);
}

TEST_CASE("MadPipe phase 1 equals its recurrence on chains of up to 20 layers on coarse grids") {
  Comparison counts;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const Chain chain = random_instance(random, 20).chain();
    AllocationSettings settings = random_settings(random);
    settings.exact_states = false;
    settings.grid = {12, 5, 9};
    compare(chain, settings, counts);
  }
  CHECK(counts.feasible > 60);
  CHECK(counts.with_many > 20);
}

TEST_CASE("MadPipe phase 1: a longer period estimate never makes the bottleneck worse on exact states") {
  int falls = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const Chain chain = random_instance(random, 6).chain();
    madpipe::AllocationSolver solver(chain, exact(seed % 2 == 0 ? SpecialMemory::Optimistic : SpecialMemory::Safe));
    const Ticks total = std::max<Ticks>(40, chain.load(0, chain.size()));
    Ticks before = madpipe::kUnlimited;
    for (Ticks target = total / 40; target <= total + total / 40; target += total / 40) {
      const std::optional<Allocation> found = solver.solve(target);
      const Ticks bottleneck = found ? found->bottleneck : madpipe::kUnlimited;
      CHECK(bottleneck <= before);
      falls += bottleneck < before ? 1 : 0;
      before = bottleneck;
    }
  }
  CHECK(falls > 250);
}

TEST_CASE("MadPipe phase 1: one device has all layers, as the special one") {
  MadPipeInstance instance = madpipe_m1(60);
  instance.devices = 1;
  const auto found = last_found(instance.chain(), exact());
  REQUIRE(found);
  CHECK(found->period() == 24 * kUnit);
  CHECK(madpipe::merge_adjacent(found->stages) == std::vector<ChainStage>{{0, 4, 0}});
  CHECK(found->special_device == 0U);
  instance.memory = 35;  // 3 W + one input of each layer = 24 + 12 = 36
  CHECK_FALSE(last_found(instance.chain(), exact(SpecialMemory::Safe)));
  instance.memory = 36;
  CHECK(last_found(instance.chain(), exact(SpecialMemory::Safe)));
}

TEST_CASE("MadPipe phase 1: more devices than layers") {
  MadPipeInstance instance = madpipe_m1(1000);
  instance.devices = 9;
  const auto found = madpipe::AllocationSolver(instance.chain(), exact()).solve(9 * kUnit);
  REQUIRE(found);
  CHECK(found->bottleneck == 9 * kUnit);
  CHECK(found->stages.size() <= 4);
  CHECK_FALSE(found->special_device);  // normal devices come first where both are as good
}

TEST_CASE("MadPipe phase 1: layers that cost nothing") {
  const MadPipeInstance instance{3, 10, 1, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0, 0}};
  for (const bool exact_states : {true, false}) {
    AllocationSettings settings = exact();
    settings.exact_states = exact_states;
    const madpipe::AllocationSearch search = madpipe::trace_search(instance.chain(), settings);
    REQUIRE_FALSE(search.found.empty());
    CHECK(search.found.back().bottleneck == 0);
    CHECK(search.found.back().period() == 1);  // the shortest period there is
  }
}

TEST_CASE("MadPipe phase 1: no memory") {
  MadPipeInstance instance = madpipe_m2();
  instance.memory = 0;
  for (const bool exact_states : {true, false}) {
    AllocationSettings settings = exact();
    settings.exact_states = exact_states;
    const madpipe::AllocationSearch search = madpipe::trace_search(instance.chain(), settings);
    CHECK(search.found.empty());
    CHECK(search.steps.size() == 11);  // the upper end is tried, too
    CHECK(search.steps.back().target == 40 * kUnit);
    instance.parameters = {0, 0, 0, 0, 0};
    instance.outputs = {0, 0, 0, 0, 0, 0};
    CHECK(last_found(instance.chain(), settings)->period() == 12 * kUnit);
    instance = madpipe_m2();
    instance.memory = 0;
  }
}

TEST_CASE("MadPipe phase 1: cuts that take far longer than all layers are avoided, and no count overflows") {
  // Almost 3 days one way, so many microbatches in flight that their bytes cannot be counted; or more, no cut at all.
  for (const std::int64_t bytes : {240'000'000'000'000, 4'000'000'000'000'000}) {
    MadPipeInstance instance{4, std::int64_t{1} << 55U, 1e9, {1e-9, 1e-9, 2e-9}, {1e-9, 2e-9, 1e-9}, {1, 1, 1}, {}};
    instance.outputs.assign(4, bytes);
    for (const bool exact_states : {true, false}) {
      AllocationSettings settings = exact(SpecialMemory::Safe);
      settings.exact_states = exact_states;
      const auto at_1 = madpipe::AllocationSolver(instance.chain(), settings).solve(1);
      const auto at_8 = madpipe::AllocationSolver(instance.chain(), settings).solve(8);
      const auto found = last_found(instance.chain(), settings);
      CHECK((bytes < 1'000'000'000'000'000) == at_1.has_value());
      REQUIRE(at_8);
      CHECK(at_8->bottleneck == 8);
      CHECK(at_8->stages == std::vector<ChainStage>{{0, 3, 0}});
      REQUIRE(found);
      CHECK(found->bottleneck == 8);
    }
  }
}

TEST_CASE("MadPipe phase 1: weeks of load and petabytes of memory") {
  const std::int64_t pebibyte = std::int64_t{1} << 50U;
  MadPipeInstance instance{8, 40 * pebibyte, 1e9, {}, {}, {}, {pebibyte}};
  for (int i = 0; i < 12; ++i) {
    instance.forward.push_back(1.8e5 + i);
    instance.backward.push_back(1.8e5);
    instance.parameters.push_back(pebibyte / 4);
    instance.outputs.push_back(pebibyte);
  }
  const Chain chain = instance.chain();
  for (const bool exact_states : {true, false}) {
    AllocationSettings settings = exact(SpecialMemory::Safe);
    settings.exact_states = exact_states;
    settings.grid = {30, 4, 10};
    Comparison counts;
    compare(chain, settings, counts);
    CHECK(counts.feasible > 0);
  }
}

TEST_CASE("MadPipe: a grid too fine for packed states gives the same answers") {
  AllocationSettings settings;
  settings.grid = {1'000'001, 1'000'001, 1'000'001};
  const auto found = last_found(madpipe_m2().chain(), settings);
  REQUIRE(found);
  CHECK(show(*found) == "{1}s {2,3,4}n {5}s");
  CHECK(found->bottleneck == 14'000'016'000);  // 6 s, and 8 s on a grid of 24 us
}

TEST_CASE("MadPipe: a grid rounds up to its next point") {
  const madpipe::GridAxis axis(64, 11, 30);  // points every 6.4
  CHECK(axis.value(1) == 7);
  CHECK(axis.value(5) == 32);
  CHECK(axis.value(29) == 186);
  for (std::int64_t value = 0; value <= 185; ++value) {
    CAPTURE(value);
    CHECK(64 * axis.point(value) >= 10 * value);
    CHECK(64 * (axis.point(value) - 1) < 10 * value);
  }
  const madpipe::GridAxis fine(3, 11, 40);  // several points to a unit
  CHECK(fine.point(1) == 4);
  CHECK(fine.point(3) == 10);
  CHECK(fine.value(10) == 3);
  CHECK(fine.value(11) == 4);
  CHECK(madpipe::GridAxis(0, 11, 40).point(0) == 0);
}

}  // namespace
}  // namespace stagecraft::madpipe_allocation_test
