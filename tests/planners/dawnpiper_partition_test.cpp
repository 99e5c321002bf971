// DawnPiper's partition without a graph: the specification's vectors.
#include "planners/dawnpiper/interval.hpp"
#include "planners/dawnpiper/memory_choice.hpp"
#include "planners/dawnpiper/partition.hpp"
#include "planners/shared/savings/exact_savings.hpp"
#include "tests/planners/dawnpiper_cases.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

namespace stagecraft::dawnpiper_partition_test {

using namespace stagecraft::testing;
using dawnpiper::choose_memory;
using dawnpiper::Interval;
using dawnpiper::Partition;
using dawnpiper::PartitionSearch;
using Words = std::vector<std::string>;

namespace {

/// D2: two asynchronous stages.
UnitPipeline d2() {
  return {{{1, 2, 1, 8, 0},
           {1, 2, 2, 6, 0},
           {1, 2, 2, 3, 0},
           {2, 4, 1, 2, 0},
           {2, 4, 1, 2, 0},
           {1, 2, 1, 6, 0},
           {2, 4, 1, 8, 0},
           {3, 6, 1, 9, 0}},
          2,
          true,
          43};
}

/// The best actions of the units [begin, end) on a stage, by trying all of keep and recompute.
std::optional<StageSaving> best_of_all(const UnitPipeline& pipeline, std::size_t at, std::size_t begin,
                                       std::size_t end) {
  const SavingStage stage = pipeline.stage(at, begin, end);
  std::optional<StageSaving> best;
  for (unsigned choice = 0; choice < (1U << (end - begin)); ++choice) {
    std::int64_t memory = stage.budget.held.value();
    std::int64_t restored = 0;
    double time = 0.0;
    StageSaving plan;
    for (std::size_t i = begin; i < end; ++i) {
      const UnitNumbers& unit = pipeline.units[i];
      const bool recomputes = (choice >> (i - begin) & 1U) != 0;
      memory += pipeline.in_flight(at) * (recomputes ? unit.checkpoint : unit.stash);
      if (recomputes) restored = std::max(restored, unit.stash - unit.checkpoint);
      time += unit.forward * (recomputes ? 2 : 1) + unit.backward;
      plan.actions.push_back(recomputes ? UnitAction::Recompute : UnitAction::Keep);
    }
    plan.time = Seconds(time);
    plan.memory = Bytes(memory + restored);
    if (plan.memory <= stage.budget.capacity && (!best || plan.time < best->time)) best = plan;
  }
  return best;
}

std::int64_t all_kept(const UnitPipeline& pipeline, std::size_t at, std::size_t begin, std::size_t end) {
  const SavingStage stage = pipeline.stage(at, begin, end);
  return saved_memory(stage, std::vector<UnitAction>(end - begin, UnitAction::Keep)).value();
}

}  // namespace

TEST_CASE("dawnpiper: D2, an optimum inside the interval") {
  const UnitPipeline pipeline = d2();
  // By cut: C_A, C_B, M_A, M_B, T_A, T_B; -1 where nothing fits.
  const std::vector<std::vector<double>> table = {
      {3, 36, 21, 72, 3, -1},   {6, 33, 43, 58, 6, 40},   {9, 30, 59, 47, 11, 33}, {15, 24, 68, 41, 18, 24},
      {21, 18, 77, 35, 28, 18}, {24, 15, 94, 25, -1, 15}, {30, 9, 115, 13, -1, 9}};
  std::vector<double> compute;
  std::vector<double> memory;
  for (std::size_t p = 1; p <= table.size(); ++p) {
    CAPTURE(p);
    const std::vector<double>& row = table[p - 1];
    const auto problem = pipeline.problem();
    CHECK(problem.compute[p].value() == row[0]);
    CHECK((problem.compute.back() - problem.compute[p]).value() == row[1]);
    CHECK(all_kept(pipeline, 0, 0, p) == row[2]);
    CHECK(all_kept(pipeline, 1, p, 8) == row[3]);
    const auto before = best_of_all(pipeline, 0, 0, p);
    const auto behind = best_of_all(pipeline, 1, p, 8);
    CHECK((before ? before->time.value() : -1) == row[4]);
    CHECK((behind ? behind->time.value() : -1) == row[5]);
    compute.push_back(std::max(row[0], row[1]));
    memory.push_back(std::max(row[2], row[3]));
  }
  // P_c = {5}, P_m = {2}: positions 4 and 1.
  CHECK(dawnpiper::theorem_interval(compute, memory) == Interval{1, 4});
  for (const std::size_t margin : {0, 1}) {
    PartitionSearch search(pipeline.problem(), {.margin = margin, .exact = true});
    const std::optional<Partition> found = search.run();
    REQUIRE(found);
    CHECK(found->time == Seconds(24));
    CHECK(found->cuts == std::vector<std::size_t>{0, 4, 8});
    CHECK(letters(*found) == Words{"rrrk", "kkkk"});
  }
}

TEST_CASE("dawnpiper: D3, the compute-balanced end wins and only one cut is evaluated") {
  UnitPipeline pipeline{
      {{1, 2, 1, 8, 0}, {1, 2, 1, 8, 0}, {2, 4, 1, 6, 0}, {2, 4, 2, 4, 0}, {3, 6, 2, 4, 0}, {3, 6, 3, 2, 0}}, 2};
  const std::vector<std::pair<std::int64_t, std::int64_t>> needs = {{21, 60}, {42, 48}, {59, 38}, {77, 26}, {95, 14}};
  for (std::size_t p = 1; p <= needs.size(); ++p) {
    CHECK(all_kept(pipeline, 0, 0, p) == needs[p - 1].first);
    CHECK(all_kept(pipeline, 1, p, 6) == needs[p - 1].second);
  }
  struct Row {
    std::int64_t capacity;
    double time;
    std::string actions;
  };
  for (const Row& row : std::vector<Row>{{80, 18, "kkkk"}, {70, 19, "rkkk"}, {62, 20, "rrkk"}}) {
    CAPTURE(row.capacity);
    pipeline.capacity = row.capacity;
    for (const bool exact : {false, true}) {
      // The next candidate is cut 3 with computation of 24, no better than any of these times.
      PartitionSearch search(pipeline.problem(), {.margin = 1, .exact = exact});
      const std::optional<Partition> found = search.run();
      REQUIRE(found);
      CHECK(found->time == Seconds(row.time));
      CHECK(found->cuts == std::vector<std::size_t>{0, 4, 6});
      CHECK(letters(*found) == Words{row.actions, "kk"});
      CHECK(search.counts().leaf_calls == 2);
    }
  }
}

TEST_CASE("dawnpiper: D4, without a common cost of saving the theorem fails, and a margin of one cut helps") {
  // Stages 1 and 2 of 5. P_c = P_m = {3}.
  const UnitPipeline pipeline{
      {{3, 6, 4, 3, 1}, {3, 6, 2, 10, 2}, {6, 12, 2, 3, 1}, {1, 2, 1, 11, 3}, {3, 6, 3, 2, 2}, {3, 6, 1, 10, 1}},
      5,
      true,
      101};
  for (const bool exact : {false, true}) {
    PartitionSearch faithful(pipeline.problem(), {.margin = 0, .exact = exact});
    const std::optional<Partition> slower = faithful.run(0, 1, 0, 6);
    REQUIRE(slower);
    CHECK(slower->time == Seconds(48));
    CHECK(slower->cuts == std::vector<std::size_t>{0, 3, 6});
    PartitionSearch robust(pipeline.problem(), {.margin = 1, .exact = exact});
    const std::optional<Partition> faster = robust.run(0, 1, 0, 6);
    REQUIRE(faster);
    CHECK(faster->time == Seconds(43));
    CHECK(faster->cuts == std::vector<std::size_t>{0, 2, 6});
    CHECK(letters(*faster) == Words{"kr", "krkr"});
  }
  for (const std::size_t p : {1, 4, 5}) {
    CHECK_FALSE((best_of_all(pipeline, 0, 0, p) && best_of_all(pipeline, 1, p, 6)));
  }
}

TEST_CASE("dawnpiper: D5, four stages of equal units") {
  struct Row {
    bool asynchronous;
    std::int64_t capacity;
    double time;
    std::vector<std::size_t> cuts;
    Words actions;
  };
  const std::vector<std::size_t> even = {0, 6, 12, 18, 24};
  const std::vector<std::size_t> earlier = {0, 5, 11, 17, 24};
  const Words all_kept_words = {"kkkkkk", "kkkkkk", "kkkkkk", "kkkkkk"};
  const std::vector<Row> rows = {
      {true, 250, 36, even, all_kept_words},
      {true, 150, 40, even, {"rrkkkk", "kkkkkk", "kkkkkk", "kkkkkk"}},
      {true, 110, 42, earlier, {"rrrkk", "rrrkkk", "kkkkkk", "kkkkkkk"}},
      {true, 95, 44, earlier, {"rrrkk", "rrrrkk", "rrkkkk", "kkkkkkk"}},
      {true, 80, 44, earlier, {"rrrrk", "rrrrkk", "rrrkkk", "kkkkkkk"}},
      {false, 250, 36, even, all_kept_words},
      {false, 150, 38, even, {"rkkkkk", "kkkkkk", "kkkkkk", "kkkkkk"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.capacity);
    CAPTURE(row.asynchronous);
    const UnitPipeline pipeline{repeated({2, 4, 1, 6, 0}, 24), 4, row.asynchronous, row.capacity};
    PartitionSearch search(pipeline.problem(), {.margin = 0});
    const std::optional<Partition> found = search.run();
    REQUIRE(found);
    CHECK(found->time == Seconds(row.time));
    CHECK(found->cuts == row.cuts);
    CHECK(letters(*found) == row.actions);
  }
  // Needs of the even split with everything kept.
  const std::vector<std::int64_t> asynchronous = {186, 144, 102, 60};
  const std::vector<std::int64_t> synchronous = {168, 132, 96, 60};
  for (std::size_t s = 0; s < 4; ++s) {
    const UnitPipeline pipeline{repeated({2, 4, 1, 6, 0}, 24), 4, true, 0};
    UnitPipeline flushed = pipeline;
    flushed.asynchronous = false;
    CHECK(all_kept(pipeline, s, 6 * s, 6 * s + 6) == asynchronous[s]);
    CHECK(all_kept(flushed, s, 6 * s, 6 * s + 6) == synchronous[s]);
  }
}

TEST_CASE("dawnpiper: D5, the times of the even split") {
  const std::vector<std::pair<std::int64_t, std::vector<double>>> rows = {{250, {36, 36, 36, 36}},
                                                                          {150, {40, 36, 36, 36}},
                                                                          {110, {44, 42, 36, 36}},
                                                                          {95, {46, 44, 40, 36}},
                                                                          {80, {46, 44, 42, 36}}};
  for (const auto& [capacity, times] : rows) {
    CAPTURE(capacity);
    const UnitPipeline pipeline{repeated({2, 4, 1, 6, 0}, 24), 4, true, capacity};
    for (std::size_t s = 0; s < 4; ++s) {
      const SavingStage stage = pipeline.stage(s, 6 * s, 6 * s + 6);
      const std::optional<StageSaving> plan = choose_memory(stage.units, stage.budget);
      REQUIRE(plan);
      CHECK(plan->time == Seconds(times[s]));
    }
  }
}

TEST_CASE("dawnpiper: D6, a large gain under tight memory") {
  UnitPipeline pipeline{repeated({2, 4, 1, 6, 1}, 24), 4, true, 50};
  const auto fits_evenly = [&] {
    for (std::size_t s = 0; s < 4; ++s) {
      if (!best_of_all(pipeline, s, 6 * s, 6 * s + 6)) return false;
    }
    return true;
  };
  CHECK_FALSE(fits_evenly());
  for (const std::size_t margin : {0, 1}) {
    PartitionSearch search(pipeline.problem(), {.margin = margin});
    const std::optional<Partition> found = search.run();
    REQUIRE(found);
    CHECK(found->time == Seconds(72));
    CHECK(found->cuts == std::vector<std::size_t>{0, 4, 9, 15, 24});
    CHECK(letters(*found) == Words{"rrrr", "rrrrr", "rrrrrr", "rrrrrrrrr"});
  }
  pipeline.asynchronous = false;
  PartitionSearch search(pipeline.problem(), {.margin = 1});
  const std::optional<Partition> found = search.run();
  REQUIRE(found);
  CHECK(found->time == Seconds(52));
  CHECK(found->cuts == std::vector<std::size_t>{0, 5, 11, 17, 24});
  CHECK(letters(*found) == Words{"rrrrr", "rrrrrr", "rrrrrr", "rrrrrkk"});
}

TEST_CASE("dawnpiper: a unit that fits only in the last stage does not make the partition give up") {
  // Stage 1 holds two microbatches, so unit 5 needs 80 bytes there and 40 in stage 2. If stage 0 takes as many units as
  // fit, nothing is left for stage 1 but unit 5.
  UnitPipeline pipeline;
  pipeline.units = repeated({1, 2, 1, 2, 2}, 5);
  pipeline.units.push_back({1, 2, 1, 40, 40});
  pipeline.units.push_back({1, 2, 1, 1, 1});
  pipeline.stages = 3;
  pipeline.capacity = 60;
  const auto found = PartitionSearch(pipeline.problem(), {.margin = 1}).run();
  REQUIRE(found.has_value());
  CHECK(found->cuts.back() == 7);
  CHECK(found->cuts[2] <= 5);
}

TEST_CASE("dawnpiper: units are recomputed as one segment where single ones take too much") {
  // Two units of 20 bytes on a stage that keeps three microbatches; the first has a checkpoint of 6 bytes, the other of
  // 10.
  UnitPipeline pipeline{{{1, 2, 0, 20, 6}, {1, 2, 0, 20, 10}}, 1};
  dawnpiper::PartitionProblem problem = pipeline.problem();
  problem.places = {{1.0, 3, 4}};
  Bytes capacity;
  problem.stage = [&](std::size_t at, std::size_t begin, std::size_t end) {
    SavingStage stage = with_segments(pipeline.stage(at, begin, end));
    stage.budget.in_flight = stage.budget.resident = 3;
    stage.budget.capacity = capacity;
    return stage;
  };
  const auto run = [&](std::int64_t bytes, bool exact) -> std::optional<StageSaving> {
    capacity = Bytes(bytes);
    const std::optional<Partition> found = PartitionSearch(problem, {.margin = 1, .exact = exact}).run();
    return found ? std::optional(found->savings.front()) : std::nullopt;
  };
  // Kept: 120. One recomputed: 60 + 18 and 14 restored, or 60 + 30 and 10. Both, each by itself: 18 + 30 and 14
  // restored; as one segment 18 and 34.
  for (const bool exact : {false, true}) {
    CAPTURE(exact);
    CHECK(run(120, exact)->time == Seconds(6));
    CHECK(run(92, exact)->time == Seconds(7));
    CHECK(run(91, exact)->time == Seconds(8));
    CHECK(action_letters(run(61, exact)->actions) == "rj");
    CHECK(run(52, exact)->time == Seconds(8));
    CHECK_FALSE(run(51, exact).has_value());
  }
}

TEST_CASE("dawnpiper: D8, the actions of one stage") {
  UnitPipeline pipeline{{{2, 4, 3, 8, 2}, {1, 2, 3, 10, 2}, {4, 8, 3, 6, 2}, {1, 2, 3, 4, 2}}, 4, true, 0, 0.5};
  const SavingStage first = pipeline.stage(0, 0, 4);
  const SavingStage second = pipeline.stage(1, 0, 4);
  const auto seconds = [](const std::vector<double>& values) {
    std::vector<Seconds> result;
    for (const double value : values) result.emplace_back(value);
    return result;
  };
  CHECK(dawnpiper::free_times(first.units, first.budget) == seconds({90, 87, 75, 72}));
  CHECK(dawnpiper::free_times(second.units, second.budget) == seconds({66, 63, 51, 48}));
  struct Row {
    std::int64_t capacity;
    std::string actions;  ///< empty: nothing fits
    double time;
    std::int64_t memory;
    double exact_time;  ///< of the best of all actions
  };
  const std::vector<Row> rows = {{190, "skkk", 24, 180, 24}, {180, "skkk", 24, 180, 24}, {170, "krks", 25, 164, 25},
                                 {160, "srkk", 25, 156, 25}, {150, "srks", 25, 148, 25}, {140, "srrk", 29, 140, 27},
                                 {130, "rrrs", 31, 124, 27}, {120, "", 0, 0, 0}};
  for (const Row& row : rows) {
    CAPTURE(row.capacity);
    pipeline.capacity = row.capacity;
    const SavingStage stage = pipeline.stage(0, 0, 4);
    const std::optional<StageSaving> plan = choose_memory(stage.units, stage.budget);
    const std::optional<StageSaving> best = exact_savings(stage).saving;
    REQUIRE(plan.has_value() == !row.actions.empty());
    REQUIRE(best.has_value() == plan.has_value());
    if (!plan) continue;
    CHECK(best->time == Seconds(row.exact_time));
    CHECK(action_letters(plan->actions) == row.actions);
    CHECK(plan->time == Seconds(row.time));
    CHECK(plan->memory == Bytes(row.memory));
  }
}

}  // namespace stagecraft::dawnpiper_partition_test
