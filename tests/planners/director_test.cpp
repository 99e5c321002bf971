#include "planners/director/contest.hpp"
#include "planners/director/counted_judge.hpp"
#include "planners/director/draft.hpp"
#include "planners/director/moves.hpp"
#include "planners/director/search.hpp"
#include "planners/director/stage_costs.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/model/report.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft::director_test {

using namespace stagecraft::testing;

namespace {

/// Plans whose verdicts a table has; a plan's number of microbatches is its row.
struct Table {
  struct Row {
    Seconds least;
    Verdict replayed;
  };
  std::vector<Row> rows;
  std::vector<std::size_t> asked = {};  ///< for a replay

  [[nodiscard]] Judge judge() {
    const auto row = [this](const Plan& plan) { return static_cast<std::size_t>(plan.microbatches); };
    return {.evaluate = [this, row](const Plan& plan) { return Verdict{rows[row(plan)].least, true}; },
            .replay =
                [this, row](const Plan& plan) {
                  asked.push_back(row(plan));
                  return rows[row(plan)].replayed;
                }};
  }
  /// The row of the best plan.
  std::optional<std::size_t> best() {
    const Judge judge = this->judge();
    director::CountedJudge counted(judge);
    director::Contest contest(counted);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Plan plan;
      plan.microbatches = static_cast<std::int64_t>(i);
      contest.add({"", {plan, {}}});
    }
    contest.replay_in_order();
    CHECK(counted.evaluations() == static_cast<std::int64_t>(rows.size()));
    CHECK(counted.replays() == static_cast<std::int64_t>(asked.size()));
    if (!contest.best()) return std::nullopt;
    const director::Candidate& best = contest.candidates()[*contest.best()];
    const auto row = static_cast<std::size_t>(best.planned.plan.microbatches);
    CHECK(best.replayed == rows[row].replayed);
    return row;
  }
};

Table random_table(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto number = [&](std::uint32_t most) { return static_cast<double>(random() % most); };
  Table table;
  for (std::uint32_t i = 0; i < 1 + seed % 12; ++i) {
    const Seconds least = random() % 8 == 0 ? kNever : Seconds(10.0 + number(10));
    table.rows.push_back({least, {least + Seconds(number(6)), random() % 5 != 0}});
  }
  return table;
}

/// A judge that evaluates, for plans of flat platforms.
Judge evaluating(const LayerGraph& graph, const Platform& platform) {
  const auto evaluate = [&](const Plan& plan) {
    return Verdict{evaluate_iteration(graph, platform, require_schedule(graph, platform, plan)), true};
  };
  return {.evaluate = evaluate, .replay = evaluate};
}

PlanRequest request_for(const LayerGraph& graph, const Platform& platform, const Judge* judge,
                        const GivenOptions& options = {}) {
  PlanRequest request{graph, platform, {}, 8, {}, parse_options(find_planner("director"), options)};
  request.judge = judge;
  return request;
}

}  // namespace

TEST_CASE("director: no plan that is left out replays faster, and none is replayed that cannot be faster") {
  for (std::uint32_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    Table table = random_table(seed);
    const std::optional<std::size_t> found = table.best();
    const auto runs = [](const Table::Row& row) { return row.least < kNever; };
    CHECK(found.has_value() == std::ranges::any_of(table.rows, runs));
    if (!found) continue;
    const Verdict best = table.rows[*found].replayed;
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const Table::Row& row = table.rows[i];
      if (!runs(row)) continue;
      CHECK((best.fits || !row.replayed.fits));
      if (row.replayed.fits == best.fits) CHECK(row.replayed.time >= best.time);
      if (best.fits && row.least > best.time) CHECK(std::ranges::count(table.asked, i) == 0);
    }
  }
}

TEST_CASE(
    "director: a plan that can be no faster than the best one is not replayed, and the first of equals is taken") {
  Table table{{{Seconds(3), {Seconds(5), true}}, {Seconds(2), {Seconds(3), true}}, {Seconds(2), {Seconds(3), true}}}};
  CHECK(table.best() == 1);
  CHECK(table.asked == std::vector<std::size_t>{1, 2});
}

TEST_CASE("director: a judge runs no more than its limit, and then nothing any more") {
  Table table{{{Seconds(3), {Seconds(5), true}}}};
  const Judge judge = table.judge();
  director::CountedJudge counted(judge);
  counted.limit(2, 1);
  const Plan plan = [] {
    Plan of_first_row;
    of_first_row.microbatches = 0;
    return of_first_row;
  }();
  CHECK(counted.evaluate(plan).has_value());
  CHECK(counted.replay(plan).has_value());
  CHECK_FALSE(counted.is_spent());
  CHECK_FALSE(counted.replay(plan).has_value());
  CHECK(counted.is_spent());
  CHECK_FALSE(counted.evaluate(plan).has_value());
  CHECK(counted.evaluations() == 1);
}

TEST_CASE("director: the answer is the plan of the best seed, which it names, with the judge's time as its claim") {
  const LayerGraph graph = chain({3, 1, 2, 2});
  const Platform platform = flat_platform(3);
  const Judge judge = evaluating(graph, platform);
  const PlannerInfo& planner = find_planner("director");
  const PlanResult result = planner.plan(request_for(graph, platform, &judge));
  REQUIRE(std::holds_alternative<Planned>(result));
  const Plan& plan = std::get<Planned>(result).plan;
  CHECK(plan.planner == "director");
  CHECK(plan.predicted.iteration_time == judge.replay(plan).time);
  CHECK_FALSE(plan.predicted.peak_memory.empty());
  const PlanResult one =
      planner.plan(request_for(graph, platform, &judge, {{"seeds", "uniform"}, {"evaluations", "0"}}));
  const Plan uniform = std::get<Planned>(run_planner(find_planner("uniform"), graph, platform)).plan;
  CHECK(std::get<Planned>(one).plan.stages == uniform.stages);
  CHECK(*plan.predicted.iteration_time <= *std::get<Planned>(one).plan.predicted.iteration_time);
}

TEST_CASE("director: a larger limit never gives a slower plan, and equal requests give equal plans") {
  const PlannerInfo& planner = find_planner("director");
  int gains = 0;
  for (std::uint32_t seed = 1; seed <= (draws_all() ? 4U : 2U); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::vector<double> times;
    for (int i = 0; i < 8; ++i) times.push_back(1 + random() % 9);
    LayerGraph graph = chain(times);
    for (Layer& layer : graph.layers) layer.parameters = Bytes(random() % 200);
    const Platform platform = flat_platform(6, 5.0);
    const Judge judge = evaluating(graph, platform);
    const auto plan_with = [&](int evaluations, const char* replays) {
      const GivenOptions options{{"evaluations", std::to_string(evaluations)}, {"replays", replays}};
      return std::get<Planned>(planner.plan(request_for(graph, platform, &judge, options))).plan;
    };
    Seconds last = kNever;
    for (const int evaluations : {0, 5, 20, 60, 200}) {
      CAPTURE(evaluations);
      const Plan plan = plan_with(evaluations, "300");
      CHECK(*plan.predicted.iteration_time <= last);
      last = *plan.predicted.iteration_time;
      CHECK(plan_with(evaluations, "300") == plan);
    }
    const Plan seeds = plan_with(0, "0");
    CHECK(plan_with(200, "0") == seeds);
    if (last < *seeds.predicted.iteration_time) ++gains;
  }
  CHECK(gains > 0);
}

TEST_CASE("director: a search changes what it can, though the best plan is none of that") {
  const LayerGraph graph = chain({3, 1, 2, 2, 4, 1});
  const Platform platform = flat_platform(3, 5.0);
  const Judge judge = evaluating(graph, platform);
  const PlanRequest request = request_for(graph, platform, &judge);
  const director::StageCosts costs(request);
  const std::vector<std::vector<DeviceId>> nodes = {{DeviceId(0), DeviceId(1), DeviceId(2)}};
  const std::vector<NodeRuns> runs = alike_devices(platform);
  const director::MoveSpace space{costs, nodes, runs, {{"1f1b", {}}}};
  const director::Draft alone{{{0, 6, {DeviceId(0)}, false}}, {"1f1b", {}}};
  for (const bool has_draft : {false, true}) {
    CAPTURE(has_draft);
    director::CountedJudge counted(judge);
    director::Contest contest(counted);
    Planned best =
        director::planned_of(request, {{{0, 3, {DeviceId(0)}, false}, {3, 6, {DeviceId(1)}, false}}, {"1f1b", {}}});
    contest.add({"fixed", std::move(best)});
    contest.replay_in_order();
    if (has_draft) contest.add({"slow", director::planned_of(request, alone), alone});
    counted.limit(200, 50);
    director::Search(request, space, contest, counted, 1).run();
    CHECK((contest.candidates().size() > 2) == has_draft);
    CHECK((contest.best() != 0) == has_draft);
  }
}

TEST_CASE("director: where devices are not connected, the answer is a plan of another planner") {
  const LayerGraph graph = chain({3, 1, 2, 2});
  PlatformSpec spec = flat_platform(3).spec;
  auto& form = std::get<ExplicitForm>(spec.form);
  form.default_link.reset();
  form.links.push_back(
      {"", std::pair<ExplicitEnd, ExplicitEnd>(DeviceId(0), DeviceId(1)), LinkSpec{BytesPerSecond(100), Seconds(0)}});
  const Platform platform = build_platform(std::move(spec));
  const Judge judge = evaluating(graph, platform);
  const PlanResult result = find_planner("director").plan(request_for(graph, platform, &judge, {{"seeds", "uniform"}}));
  if (const auto* planned = std::get_if<Planned>(&result)) CHECK(planned->plan.planner == "director");
}

TEST_CASE("director: what it cannot do is refused") {
  const LayerGraph graph = chain({3, 1, 2, 2});
  const Platform platform = flat_platform(3);
  const Judge judge = evaluating(graph, platform);
  const PlannerInfo& planner = find_planner("director");
  CHECK_THROWS_AS(planner.plan(request_for(graph, platform, nullptr)), InputError);
  CHECK_THROWS_AS(planner.plan(request_for(graph, platform, &judge, {{"seeds", "unifrom"}})), InputError);
  CHECK_THROWS_AS(planner.plan(request_for(graph, platform, &judge, {{"seeds", "director"}})), InputError);
  CHECK_THROWS_AS(planner.plan(request_for(graph, platform, &judge, {{"seeds", "madpipe"}})), InputError);
  PlanRequest request = request_for(graph, platform, &judge);
  request.schedule.name = "pipedream";
  CHECK_THROWS_AS(planner.plan(request), InputError);
}

TEST_CASE("director: where nothing fits, the refusal is one of the planners' that were asked") {
  const LayerGraph graph = chain({3, 1, 2, 2});
  const Platform platform = flat_platform(3, 100.0, Bytes(50));
  const Judge judge = evaluating(graph, platform);
  const PlanResult result = find_planner("director").plan(request_for(graph, platform, &judge));
  REQUIRE(std::holds_alternative<Infeasible>(result));
  CHECK(std::get<Infeasible>(result).is_costly);
  CHECK_FALSE(std::get<Infeasible>(result).search.has_value());
}

}  // namespace stagecraft::director_test
