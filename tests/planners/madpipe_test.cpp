#include "planners/registry.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/base/error.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/planners/madpipe_chains.hpp"
#include "tests/planners/pattern_cases.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/compiled.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace stagecraft::madpipe_test {

using namespace stagecraft::testing;

namespace {

using Given = std::vector<std::pair<std::string, std::string>>;
const Given kExact{{"states", "exact"}};
const Training kPublished{1, 0, 2};

PlanResult ask(const std::string& planner, const MadPipeInstance& instance, const Given& options = {}) {
  return run_planner(find_planner(planner), instance.graph(), instance.platform(), options, 8, kPublished);
}

Planned planned(const PlanResult& result) {
  REQUIRE(std::holds_alternative<Planned>(result));
  return std::get<Planned>(result);
}

Given with(Given options, const std::string& name, const std::string& value) {
  options.emplace_back(name, value);
  return options;
}

double number(const Planned& planned, const std::string& name) { return std::get<double>(detail(planned, name).value); }
bool flag(const Planned& planned, const std::string& name) { return std::get<bool>(detail(planned, name).value); }
bool is_null(const Planned& planned, const std::string& name) {
  return std::holds_alternative<std::nullptr_t>(detail(planned, name).value);
}

/// The plan's own stages and pattern, judged by the checker of the tests.
void check_plan_of(const MadPipeInstance& instance, const Planned& planned) {
  std::vector<ChainStage> stages;
  for (const Stage& stage : planned.plan.stages) {
    const std::size_t begin = stage.layers.front().value();
    stages.push_back(
        {begin, begin + stage.layers.size(), static_cast<std::uint32_t>(stage.replicas.front().lead().value())});
  }
  REQUIRE(planned.plan.pattern.has_value());
  CHECK(planned.plan.pattern->timed);
  TickPattern pattern{ticks_up(planned.plan.pattern->period), {}};
  for (const PatternOperation& o : planned.plan.pattern->operations) {
    pattern.operations.push_back({o.is_cut, o.index, o.backward, ticks_up(o.start), o.shift});
  }
  const Chain chain = instance.chain();
  const PatternVerdict verdict = check_pattern(chain, stages, pattern);
  for (const std::string& problem : verdict.problems) FAIL_CHECK(problem);
  for (const auto& [device, peak] : planned.plan.predicted.peak_memory) {
    CHECK(peak == verdict.peaks.at(static_cast<std::uint32_t>(device.value())));
  }
  CHECK(planned.plan.predicted.period == planned.plan.pattern->period);
  CHECK(number(planned, "achieved_period_s") == planned.plan.pattern->period.value());
}

}  // namespace

TEST_CASE("madpipe: M2 puts two stages on one device and is faster than any contiguous cut") {
  const MadPipeInstance instance = madpipe_m2();
  const Planned result = planned(ask("madpipe", instance, kExact));
  check_plan_of(instance, result);
  CHECK(stage_names(instance.graph(), result.plan) ==
        std::vector<std::vector<std::string>>{{"l1"}, {"l2", "l3", "l4"}, {"l5"}});
  CHECK(result.plan.stages[0].replicas == result.plan.stages[2].replicas);
  CHECK(result.plan.predicted.peak_memory ==
        std::vector<std::pair<DeviceId, Bytes>>{{DeviceId(0), Bytes(47)}, {DeviceId(1), Bytes(55)}});
  CHECK(number(result, "dp_period_s") == 14.0);
  CHECK(number(result, "achieved_period_s") == 14.0);
  CHECK(number(result, "contiguous_period_s") == 16.0);
  CHECK(number(result, "pipedream_claimed_period_s") == 12.0);
  CHECK(number(result, "pipedream_true_period_s") == 18.0);
  CHECK_FALSE(flag(result, "fallback"));
  CHECK_FALSE(flag(result, "ilp_limit_struck"));
  CHECK(result.notes.empty());
  // The same on the grid, whose estimate is coarser.
  const Planned coarse = planned(ask("madpipe", instance));
  CHECK(number(coarse, "dp_period_s") == doctest::Approx(14.16).epsilon(1e-9));
  CHECK(coarse.plan == result.plan);
}

TEST_CASE("madpipe: M4 falls back to the contiguous plan") {
  const MadPipeInstance instance = madpipe_m4();
  const Planned result = planned(ask("madpipe", instance, kExact));
  check_plan_of(instance, result);
  CHECK(flag(result, "fallback"));
  CHECK(number(result, "dp_period_s") == 10.0);
  CHECK(number(result, "achieved_period_s") == 13.0);
  CHECK(result.plan.planner == "madpipe");
  CHECK(result.plan.stages == planned(ask("contiguous", instance)).plan.stages);
  const Planned alone = planned(ask("madpipe", instance, with(kExact, "fallback", "false")));
  check_plan_of(instance, alone);
  CHECK_FALSE(flag(alone, "fallback"));
  CHECK(number(alone, "achieved_period_s") == 18.0);
  CHECK(number(alone, "contiguous_period_s") == 13.0);
  const Planned safe = planned(ask("madpipe", instance, with(kExact, "special_memory", "safe")));
  CHECK(number(safe, "dp_period_s") == doctest::Approx(13.0059).epsilon(1e-5));
  CHECK(number(safe, "achieved_period_s") == 13.0);
}

TEST_CASE("madpipe: M1 at all its memories") {
  for (const auto& [memory, achieved] :
       std::vector<std::pair<std::int64_t, double>>{{60, 9}, {50, 9}, {45, 9}, {40, 12}}) {
    CAPTURE(memory);
    const MadPipeInstance instance = madpipe_m1(memory);
    const Planned result = planned(ask("madpipe", instance, kExact));
    check_plan_of(instance, result);
    CHECK(number(result, "achieved_period_s") == achieved);
    CHECK(flag(result, "fallback") == (memory == 40));
  }
  // PipeDream's cut passes its own test nowhere.
  const Planned tight = planned(ask("madpipe", madpipe_m1(25), kExact));
  CHECK(is_null(tight, "pipedream_claimed_period_s"));
  CHECK(is_null(tight, "pipedream_true_period_s"));
  CHECK(number(tight, "achieved_period_s") <= 28.0);
}

TEST_CASE("madpipe: never worse than contiguous on random chains, and every plan holds") {
  int better = 0;
  const int chains = draws_all() ? 60 : 20;
  for (int seed = 1; seed <= chains; ++seed) {
    CAPTURE(seed);
    const MadPipeInstance instance = random_instance(static_cast<unsigned>(seed), 2);
    const PlanResult contiguous = ask("contiguous", instance);
    for (const char* mode : {"optimistic", "safe"}) {
      const PlanResult result = ask("madpipe", instance, {{"special_memory", mode}});
      if (std::holds_alternative<Infeasible>(result)) {
        CHECK(std::holds_alternative<Infeasible>(contiguous));
        continue;
      }
      check_plan_of(instance, planned(result));
      if (!std::holds_alternative<Planned>(contiguous)) continue;
      const double of_contiguous = planned(contiguous).plan.predicted.period->value();
      CHECK(number(planned(result), "contiguous_period_s") == of_contiguous);
      CHECK(number(planned(result), "achieved_period_s") <= of_contiguous);
      CHECK(flag(planned(result), "fallback") == (number(planned(result), "achieved_period_s") == of_contiguous));
      if (!flag(planned(result), "fallback")) ++better;
    }
  }
  CHECK(better > chains / 6);
}

TEST_CASE("madpipe: with more candidates no plan is slower, and each is valid") {
  for (unsigned seed = 1; seed <= (draws_all() ? 40U : 10U); ++seed) {
    CAPTURE(seed);
    const MadPipeInstance instance = random_instance(seed, 4);
    const PlanResult one = ask("madpipe", instance, {{"fallback", "false"}, {"candidates", "1"}});
    const PlanResult more = ask("madpipe", instance, {{"fallback", "false"}, {"candidates", "4"}});
    if (!std::holds_alternative<Planned>(one)) continue;
    const Planned last = planned(one);
    const Planned best = planned(more);
    check_plan_of(instance, best);
    CHECK(number(best, "achieved_period_s") <= number(last, "achieved_period_s"));
    CHECK(detail(best, "dp_period_s") == detail(last, "dp_period_s"));
  }
}

TEST_CASE("madpipe: one device, and more devices than layers") {
  MadPipeInstance instance = madpipe_m2();
  instance.devices = 1;
  instance.memory = 1000;
  const Planned alone = planned(ask("madpipe", instance));
  check_plan_of(instance, alone);
  CHECK(alone.plan.stages.size() == 1);
  CHECK(number(alone, "achieved_period_s") == 24.0);
  instance.devices = 9;
  const Planned many = planned(ask("madpipe", instance));
  check_plan_of(instance, many);
  CHECK(number(many, "achieved_period_s") == 8.0);  // the largest layer
}

TEST_CASE("madpipe: layers of no work, all or some") {
  MadPipeInstance instance = madpipe_m2();
  instance.forward[2] = instance.backward[2] = 0;
  check_plan_of(instance, planned(ask("madpipe", instance, kExact)));
  instance.forward.assign(5, 0.0);
  instance.backward.assign(5, 0.0);
  const Planned idle = planned(ask("madpipe", instance));
  CHECK(number(idle, "achieved_period_s") == 1e-9);  // the least period there is
  for (const auto& [device, peak] : idle.plan.predicted.peak_memory) CHECK(peak <= Bytes(instance.memory));
}

TEST_CASE("madpipe: where every cut is hopeless, one device does all") {
  MadPipeInstance instance = madpipe_m2();
  instance.beta = 1e-6;
  instance.memory = 1000;
  const Planned result = planned(ask("madpipe", instance));
  check_plan_of(instance, result);
  CHECK(result.plan.stages.size() == 1);
  CHECK(number(result, "achieved_period_s") == 24.0);
}

TEST_CASE("madpipe: memory for nothing is a clear no") {
  MadPipeInstance instance = madpipe_m2();
  instance.memory = 20;
  const PlanResult result = ask("madpipe", instance);
  REQUIRE(std::holds_alternative<Infeasible>(result));
  const Infeasible& none = std::get<Infeasible>(result);
  CHECK(none.reason.find("device 'gpu") != std::string::npos);
  REQUIRE(none.smallest_memory.has_value());
  instance.memory = none.smallest_memory->value();
  CHECK(std::holds_alternative<Planned>(ask("madpipe", instance)));
}

TEST_CASE("madpipe: says when the limit of nodes struck") {
  const Planned result =
      planned(ask("madpipe", madpipe_m4(), {{"states", "exact"}, {"fallback", "false"}, {"ilp_node_limit", "0"}}));
  CHECK(flag(result, "ilp_limit_struck"));
  CHECK(result.notes.size() == 1);
  CHECK(std::get<std::int64_t>(detail(result, "ilp_nodes").value) == 0);
  CHECK(number(result, "achieved_period_s") >= 18.0);
}

TEST_CASE("madpipe: the same question has the same answer") {
  const MadPipeInstance instance = random_instance(12, 4);
  const Planned once = planned(ask("madpipe", instance));
  const Planned again = planned(ask("madpipe", instance));
  CHECK(once.plan == again.plan);
  CHECK(once.details == again.details);
}

TEST_CASE("madpipe: on a graph with a skipping edge the ledger has the last word") {
  MadPipeInstance instance = madpipe_m2();
  for (std::int64_t memory = 40; memory <= 80; memory += 5) {
    CAPTURE(memory);
    LayerGraph graph = instance.graph();
    graph.edges.push_back({LayerId(0), LayerId(4), Bytes(4)});
    graph.layers[LayerId(4)].stash += Bytes(4);
    const Platform platform = flat_platform(2, 2.0, Bytes(memory));
    const PlanResult result = run_planner(find_planner("madpipe"), graph, platform, kExact, 8, kPublished);
    if (std::holds_alternative<Infeasible>(result)) continue;
    for (const auto& [device, peak] : planned(result).plan.predicted.peak_memory) CHECK(peak <= Bytes(memory));
    CHECK(memory_needed(platform, ledger_peaks(graph, platform,
                                               require_schedule(graph, platform, planned(result).plan))) == Bytes(0));
  }
}

TEST_CASE("madpipe: refuses other schedules and grids that are none") {
  const MadPipeInstance instance = madpipe_m2();
  const LayerGraph graph = instance.graph();
  const Platform platform = instance.platform();
  const PlannerInfo& madpipe = find_planner("madpipe");
  CHECK_THROWS_AS((void)madpipe.plan({graph, platform, {"1f1b", {}}, 8, kPublished, parse_options(madpipe, {})}),
                  InputError);
  for (const char* grid : {"", "101", "101/11", "101/11/51/2", "1/11/51", "101/x/51", "101/11/", "10001/11/51"}) {
    CAPTURE(grid);
    CHECK_THROWS_AS((void)ask("madpipe", instance, {{"grid", grid}}), InputError);
  }
  CHECK(std::holds_alternative<Planned>(ask("madpipe", instance, {{"grid", "2/2/2"}})));
}

}  // namespace stagecraft::madpipe_test
