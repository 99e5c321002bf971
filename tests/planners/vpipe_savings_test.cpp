#include "planners/shared/savings/exact_savings.hpp"
#include "planners/vpipe/greedy_savings.hpp"
#include "planners/vpipe/stage_savings.hpp"
#include "planners/vpipe/suffix_segment.hpp"
#include "tests/planners/saving_cases.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace stagecraft::vpipe_savings_test {

using namespace stagecraft::testing;
using namespace stagecraft::vpipe;

namespace {

struct GreedyRow {
  std::int64_t capacity;
  std::string actions;  ///< empty: infeasible
  double time;
  std::int64_t memory;
};

/// How often the greedy plan is as fast as the fastest of all 3^n, and the worst ratio of their times.
struct Quality {
  int cases = 0;
  int equal = 0;
  int missed = 0;  ///< cases in which something fits, but the greedy rules find nothing
  double worst = 1.0;
};

void judge(const SavingStage& stage, Quality& quality) {
  const std::optional<StageSaving> greedy = greedy_savings(stage.units, stage.budget);
  const std::optional<double> least = enumerate_savings(stage).time;
  ++quality.cases;
  if (greedy) {
    REQUIRE(least.has_value());
    CHECK(greedy->memory <= stage.budget.capacity);
    CHECK(greedy->memory == saved_memory(stage, greedy->actions));
    CHECK(greedy->time == saved_time(stage.units, greedy->actions, stage.budget));
  }
  if (!greedy && least) ++quality.missed;
  if (!greedy && !least) ++quality.equal;
  if (!greedy) return;
  const double ratio = greedy->time.value() / *least;
  quality.equal += ratio < 1.0 + 1e-9 ? 1 : 0;
  quality.worst = std::max(quality.worst, ratio);
}

/// A stage of an asynchronous pipeline of up to five stages, with 60 to 95 % of the memory that keeping all takes.
SavingStage stage_of_pipeline(std::mt19937_64& random) {
  const auto upto = [&](std::uint64_t most) { return static_cast<std::int64_t>(random() % (most + 1)); };
  SavingStage stage;
  std::int64_t parameters = 0;
  for (std::int64_t i = 3 + upto(3); i > 0; --i) {
    const auto forward = static_cast<double>(1 + upto(3));
    stage.units.push_back(unit(forward, 2 * forward, 2 + upto(10), upto(2)));
    parameters += 1 + upto(2);
  }
  stage.budget.in_flight = 1 + upto(4);
  stage.budget.resident = std::min<std::int64_t>(stage.budget.in_flight, 2);
  stage.budget.held = Bytes(parameters * (stage.budget.in_flight + 3));
  stage.budget.bandwidth = static_cast<double>(upto(3)) / 4.0;
  const std::vector<UnitAction> all_kept(stage.units.size());
  stage.budget.capacity = Bytes(saved_memory(stage, all_kept).value() * (60 + upto(35)) / 100);
  return stage;
}

/// The least time with a suffix of the stage in one segment and any of the others swapped, written down once more.
std::optional<double> enumerate_suffixes(const SavingStage& stage) {
  const std::size_t n = stage.units.size();
  const bool swaps = stage.budget.bandwidth > 0.0 && stage.budget.resident < stage.budget.in_flight;
  std::optional<double> best;
  for (std::size_t first = 0; first <= n; ++first) {
    for (std::uint64_t set = 0; set < (swaps ? std::uint64_t{1} << first : 1); ++set) {
      double compute = 0.0;
      std::int64_t swapped = 0;
      std::int64_t restored = 0;
      std::int64_t workspace = 0;
      std::int64_t memory = stage.budget.held.value();
      for (std::size_t i = 0; i < n; ++i) {
        const SavingUnit& unit = stage.units[i];
        const std::int64_t a = unit.stash.value();
        compute += unit.forward.value() * (i < first ? 1.0 : 2.0) + unit.backward.value();
        const bool is_swapped = i < first && (set >> i & 1) != 0;
        if (is_swapped) swapped += a;
        if (i < first) memory += a * (is_swapped ? stage.budget.resident : stage.budget.in_flight);
        if (i == first) memory += stage.budget.in_flight * unit.checkpoint.value();
        if (i >= first) restored += i == first ? a - unit.checkpoint.value() : a;
        workspace = std::max(workspace, unit.workspace.value());
      }
      std::int64_t in_segment = 0;
      for (std::size_t i = first; i < n; ++i) in_segment = std::max(in_segment, stage.units[i].workspace.value());
      memory += std::max(workspace, restored + in_segment);
      double copies = swapped == 0 ? 0.0 : static_cast<double>(swapped + stage.budget.other_traffic.value());
      copies = swapped == 0 ? 0.0 : copies * (stage.budget.half_duplex ? 2.0 : 1.0) / stage.budget.bandwidth;
      const double time = std::max(compute, copies);
      if (memory <= stage.budget.capacity.value() && (!best || time < *best)) best = time;
    }
  }
  return best;
}

}  // namespace

TEST_CASE("vpipe savings: the specification's stages, with the known gaps of the greedy rules") {
  const SavingChain chain = units_of_v2();
  const std::vector<std::vector<GreedyRow>> stages = {{{196, "kkkk", 24, 196},
                                                       {190, "kksk", 24, 184},
                                                       {180, "kkss", 24, 176},
                                                       {170, "krks", 25, 164},
                                                       {160, "krsk", 25, 160},
                                                       {150, "rrkk", 27, 148},  // 25 is possible
                                                       {140, "rrks", 27, 140},
                                                       {130, "rrss", 27, 128},
                                                       {120, "", 0, 0}},
                                                      {{156, "kkkk", 24, 156},
                                                       {150, "kksk", 24, 150},
                                                       {140, "krkk", 25, 140},
                                                       {130, "krss", 25, 130},
                                                       {120, "rrks", 27, 118},
                                                       {110, "rrrk", 31, 110},  // 28 is possible
                                                       {100, "", 0, 0}}};
  for (std::size_t x = 0; x < stages.size(); ++x) {
    SavingStage stage = chain.stage(x, 0, 4);
    for (const GreedyRow& row : stages[x]) {
      CAPTURE(x);
      CAPTURE(row.capacity);
      stage.budget.capacity = Bytes(row.capacity);
      const std::optional<StageSaving> saving = greedy_savings(stage.units, stage.budget);
      CHECK(saving.has_value() == !row.actions.empty());
      if (!saving) continue;
      CHECK(action_letters(saving->actions) == row.actions);
      CHECK(saving->time == Seconds(row.time));
      CHECK(saving->memory == Bytes(row.memory));
    }
  }
}

TEST_CASE("vpipe savings: the greedy rules against all choices of 3,000 random stages, twice") {
  std::mt19937_64 random(3);
  const int cases = random_cases(3000);
  Quality within;  // any capacity from the least memory to that of keeping all: 83.0 %, worst 1.56
  Quality usual;   // 85.6 %, worst 1.18; the specification has 85.2 % and 1.48 for stages that it does not describe
  for (int i = 0; i < cases; ++i) judge(random_stage(random, 3 + random() % 4), within);
  for (int i = 0; i < cases; ++i) judge(stage_of_pipeline(random), usual);
  MESSAGE(within.equal, " and ", usual.equal, " of ", cases, ", worst ", within.worst, " and ", usual.worst,
          ", missed ", within.missed, " and ", usual.missed);
  CHECK(within.equal > cases * 80 / 100);
  CHECK(within.worst < 1.6);
  CHECK(usual.equal > cases * 80 / 100);
  CHECK(usual.worst < 1.48);
  CHECK(within.missed + usual.missed <= cases / 500);
  CHECK(within.equal < cases);  // the rules are not exact
}

TEST_CASE("vpipe savings: without a host link nothing is swapped") {
  std::mt19937_64 random(19);
  for (int i = 0; i < random_cases(300); ++i) {
    SavingStage stage = random_stage(random, 5);
    stage.budget.bandwidth = 0.0;
    const std::optional<StageSaving> saving = greedy_savings(stage.units, stage.budget);
    if (saving) CHECK(std::ranges::count(saving->actions, UnitAction::Swap) == 0);
  }
}

TEST_CASE("vpipe savings: a suffix as one segment is the fastest one that fits") {
  // Three units (2, 4, 6, 2), K = 4, no link: 72 bytes kept. A suffix of one keeps 2 · 24 + 8 and restores 4: 60. Two:
  // 24 + 8 + 10 = 42. All three: 8 + 16 = 24.
  SavingStage stage;
  stage.units.assign(3, unit(2, 4, 6, 2));
  stage.budget.in_flight = 4;
  stage.budget.resident = 2;
  const FindSavings greedy = [](const SavingStage& rest) { return greedy_savings(rest.units, rest.budget); };
  for (const auto& [capacity, actions] : std::vector<std::pair<int, std::string>>{
           {72, "kkk"}, {71, "kkr"}, {60, "kkr"}, {59, "krj"}, {42, "krj"}, {41, "rjj"}, {24, "rjj"}, {23, ""}}) {
    CAPTURE(capacity);
    stage.budget.capacity = Bytes(capacity);
    const std::optional<StageSaving> saving = suffix_savings(with_segments(stage), greedy);
    CHECK(saving.has_value() == !actions.empty());
    if (!saving) continue;
    CHECK(action_letters(saving->actions) == actions);
    CHECK(saving->time == Seconds(18 + 2.0 * static_cast<double>(actions.size() - std::ranges::count(actions, 'k'))));
  }
}

TEST_CASE("vpipe savings: the exact suffix is as fast as an enumeration of suffixes and swaps") {
  std::mt19937_64 random(23);
  const FindSavings exact = [](const SavingStage& rest) { return exact_savings(rest).saving; };
  const FindSavings by_rules = [](const SavingStage& rest) { return greedy_savings(rest.units, rest.budget); };
  for (int i = 0; i < random_cases(1000); ++i) {
    CAPTURE(i);
    const SavingStage stage = with_segments(wilder_stage(random, 1 + random() % 7));
    const std::optional<double> least = enumerate_suffixes(stage);
    const std::optional<StageSaving> saving = suffix_savings(stage, exact);
    REQUIRE(saving.has_value() == least.has_value());
    const std::optional<StageSaving> greedy = suffix_savings(stage, by_rules);
    if (greedy) CHECK(least.has_value());
    if (!saving) continue;
    CHECK(saving->time.value() == doctest::Approx(*least));
    CHECK(saving->memory <= stage.budget.capacity);
    if (greedy) CHECK(greedy->time.value() >= *least * (1 - 1e-12));
  }
}

TEST_CASE("vpipe savings: a stage without a plan lacks what it takes to recompute all, or to swap all") {
  // The first stage of V2: all recomputed take 84 + 32 + 8 = 124 bytes and 32 seconds, all swapped 84 + 56 = 140.
  SavingChain chain = units_of_v2();
  chain.capacity = Bytes(100);
  const StageOf stage_of = [&](std::size_t stage, std::size_t begin, std::size_t end) {
    return chain.stage(stage, begin, end);
  };
  StageSavings stages(stage_of, {});
  CHECK(stages.cost(0, 0, 4).overflow == Bytes(24));
  CHECK(stages.cost(0, 0, 4).time == Seconds(32));
  CHECK_FALSE(stages.savings(0, 0, 4).has_value());
  // As one segment it keeps 4 · 2 bytes and restores 28 - 2.
  const StageOf with_suffixes = [&](std::size_t stage, std::size_t begin, std::size_t end) {
    return with_segments(chain.stage(stage, begin, end));
  };
  StageSavings suffixes(with_suffixes, {.is_exact = false, .is_suffix = true});
  CHECK(suffixes.cost(0, 0, 4).overflow == Bytes(84 + 8 + 26 - 100));
  // Checkpoints as large as stashes: swapping all takes least.
  for (SavingUnit& unit : chain.units) unit.checkpoint = unit.stash;
  StageSavings kept(stage_of, {});
  CHECK(kept.cost(0, 0, 4).overflow == Bytes(40));
}

TEST_CASE("vpipe savings: equal stages are planned once") {
  // Two kinds of unit by turns. Stages of the same length that begin with the same kind are equal.
  SavingChain chain;
  for (int i = 0; i < 12; ++i) chain.units.push_back(i % 2 == 0 ? unit(2, 4, 6, 1) : unit(1, 3, 4, 1));
  chain.parameters.assign(12, 1);
  chain.capacity = Bytes(60);
  int asked = 0;
  StageSavings stages(
      [&](std::size_t stage, std::size_t begin, std::size_t end) {
        ++asked;
        return chain.stage(stage, begin, end);
      },
      {});
  const StageCost first = stages.cost(1, 0, 4);
  CHECK(stages.cost(1, 2, 6).time == first.time);
  CHECK(stages.evaluations() == 2);
  CHECK(stages.repeats() == 1);
  (void)stages.cost(1, 3, 7);  // begins with the other kind
  (void)stages.cost(2, 2, 6);  // fewer microbatches in flight
  CHECK(stages.evaluations() == 4);
  CHECK(stages.repeats() == 1);
  (void)stages.cost(1, 2, 6);
  CHECK(stages.evaluations() == 4);
  CHECK(asked == 5);  // each stage once, and the first one again when the second is compared with it
}

}  // namespace stagecraft::vpipe_savings_test
