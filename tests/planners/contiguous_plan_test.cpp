// The planner `contiguous` on the exact cut: a plan, its pattern and its ledger, or the reason why there is none.
#include "planners/registry.hpp"
#include "planners/shared/savings/least_memory.hpp"
#include "sim/base/error.hpp"
#include "tests/model/topologies.hpp"
#include "tests/planners/memory_chains.hpp"
#include "tests/shared_tensors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft::contiguous_plan_test {

using namespace stagecraft::testing;

namespace {

const PlannerInfo& planner() { return find_planner("contiguous"); }

Planned plan_of(const PlanResult& result) {
  REQUIRE(std::holds_alternative<Planned>(result));
  return std::get<Planned>(result);
}

/// A graph whose first layer feeds all others, which also form a chain.
MemoryProblem fan(std::int64_t memory) {
  MemoryProblem problem = memory_problem(1, {{1, 2, 1, 8}, {1, 2, 1, 1}, {1, 2, 1, 1}, {1, 2, 1, 1}}, 4, memory, 100);
  problem.graph.layers[LayerId(1)].stash = Bytes(1);
  for (std::size_t l = 2; l < 4; ++l) problem.graph.edges.push_back({LayerId(0), LayerId(l), Bytes(8)});
  return problem;
}

/// A chain with a few more edges.
MemoryProblem random_graph(unsigned seed) {
  MemoryProblem problem = random_problem(seed);
  std::mt19937 random(seed + 1000);
  const std::size_t layers = problem.graph.layers.size();
  for (int i = 0; i < 3; ++i) {
    const std::size_t from = random() % (layers - 2);
    const std::size_t to = from + 2 + random() % (layers - from - 2);
    const Bytes bytes = problem.graph.layers[LayerId(from)].output;
    problem.graph.edges.push_back({LayerId(from), LayerId(to), bytes});
    problem.graph.layers[LayerId(to)].stash += bytes;
  }
  if (seed % 2 == 0) share_tensors(problem.graph, seed, 4);
  return problem;
}

bool exceeds(const Plan& plan, const Platform& platform) {
  return std::ranges::any_of(plan.predicted.peak_memory,
                             [&](const auto& peak) { return peak.second > platform.capacity(peak.first); });
}

}  // namespace

TEST_CASE("contiguous: the plan carries the pattern of 1F1B*, its period and the ledger's peaks") {
  const Planned planned = plan_of(planner().plan(problem_m1(26).request()));
  const Plan& plan = planned.plan;
  CHECK(plan.schedule.name == "1f1b-star");
  REQUIRE(plan.stages.size() == 3);
  CHECK(plan.predicted.period == Seconds(12));
  REQUIRE(plan.pattern.has_value());
  CHECK(plan.pattern->period == Seconds(12));
  CHECK(plan.pattern->timed);
  std::vector<double> backward(5);  // at T = 12 the backwards of S1, c1, S2, c2, S3 start at 26, 24, 20, 19, 11
  for (const PatternOperation& operation : plan.pattern->operations) {
    const double start = static_cast<double>(operation.shift) * 12 + operation.start.value();
    if (operation.backward) backward[2 * operation.index + (operation.is_cut ? 1 : 0)] = start;
  }
  CHECK(backward == std::vector<double>{26, 24, 20, 19, 11});
  const std::vector<std::pair<DeviceId, Bytes>> peaks{
      {DeviceId(0), Bytes(23)}, {DeviceId(1), Bytes(23)}, {DeviceId(2), Bytes(26)}};
  CHECK(plan.predicted.peak_memory == peaks);
  const Detail::Record details{{"period_s", 12.0},
                               {"in_flight", Detail::List{std::int64_t{3}, std::int64_t{2}, std::int64_t{1}}},
                               {"bandwidth_bytes_per_s", 2.0},
                               {"memory_bytes", std::int64_t{26}},
                               {"time_factor", 1.0}};
  CHECK(planned.details == details);
}

TEST_CASE("contiguous: an infeasible answer names the device and the memory that would do") {
  const PlanResult result = plan_explained(planner(), problem_m1(17).request());
  REQUIRE(std::holds_alternative<Infeasible>(result));
  const auto& none = std::get<Infeasible>(result);
  CHECK(none.reason.find("no contiguous stages fit") != std::string::npos);
  CHECK(none.device.has_value());
  CHECK(none.excess == Bytes(1));
  CHECK(none.smallest_memory == Bytes(18));
  CHECK_FALSE(none.hint.empty());
}

TEST_CASE("contiguous: cut=pipedream plans PipeDream's cut of the specified examples, with its true period") {
  const auto plan = [](const MemoryProblem& problem) {
    PlanRequest request = problem.request();
    request.options = parse_options(planner(), {{"cut", "pipedream"}});
    return plan_explained(planner(), request);
  };
  const Planned found = plan_of(plan(problem_m2()));  // cut before the fourth layer, 12 claimed
  REQUIRE(found.plan.stages.size() == 2);
  CHECK(found.plan.stages[0].layers.size() == 3);
  CHECK(found.plan.predicted.period == Seconds(18));
  CHECK(found.details.back() == std::pair<std::string, Detail>("claimed_period_s", 12.0));
  // With 25 bytes there is a plan, but no cut in which the i-th stage from the end could hold i microbatches.
  const PlanResult none = plan(problem_m1(25));
  REQUIRE(std::holds_alternative<Infeasible>(none));
  CHECK(std::get<Infeasible>(none).smallest_memory.value() > Bytes(25));
  CHECK(std::holds_alternative<Planned>(planner().plan(problem_m1(25).request())));
}

TEST_CASE("contiguous: another schedule is refused") {
  const MemoryProblem problem = problem_m1(60);
  PlanRequest request = problem.request();
  request.schedule.name = "1f1b";
  CHECK_THROWS_WITH_AS((void)planner().plan(request), doctest::Contains("1f1b-star"), InputError);
}

TEST_CASE("contiguous: more layers on more devices than its table may have are refused") {
  constexpr std::uint32_t kMany = 3450;
  MemoryProblem problem = problem_m1(26);
  problem.graph.layers = {};
  for (std::uint32_t l = 0; l < kMany; ++l) problem.graph.layers.push_back({.name = "l" + std::to_string(l)});
  problem.platform.spec.form = test::nodes_of(1, kMany, Interconnect{SwitchedNode{}, test::link_of(1.0)},
                                              SwitchedNetwork{}, NicSpec{test::link_of(1.0), false});
  problem.platform = build_platform(problem.platform.spec);
  CHECK_THROWS_WITH_AS(
      (void)planner().plan(problem.request()),
      doctest::Contains("the table of 3450 layers on 3450 devices would take 1.06 GiB of memory, more than 1 GiB"),
      InputError);
}

TEST_CASE("contiguous: times that nanoseconds cannot count are refused") {
  MemoryProblem problem = problem_m1(60);
  problem.graph.layers[LayerId(1)].forward = Seconds(1e18);
  CHECK_THROWS_WITH_AS((void)problem.chain(), doctest::Contains("52 days"), InputError);
}

TEST_CASE("contiguous: a tensor that goes to several stages is kept for each of them") {
  // With each tensor counted once at a cut four stages would fit 44 bytes, the first with 3 + 7 · 1 + 2 · 8; but it
  // keeps its output for each of the three others, 2 · 24. Two stages lack nothing: 2 · 3 + 2 g + 2 · 9.
  const MemoryProblem problem = fan(44);
  const Planned planned = plan_of(planner().plan(problem.request()));
  CHECK(planned.plan.stages.size() == 2);
  CHECK_FALSE(exceeds(planned.plan, problem.platform));
  // 3 of weights and gradients, 4 stages in flight at most: 3 · 1 + 4 · 1 + 2 · 24 for the first.
  CHECK(plan_of(planner().plan(fan(60).request())).plan.stages.size() == 4);
}

TEST_CASE("contiguous: on random graphs every plan fits, and the smallest memory has one") {
  int plans = 0;
  int infeasible = 0;
  for (unsigned seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    const MemoryProblem problem = random_graph(seed);
    const PlanResult result = plan_explained(planner(), problem.request());
    if (const auto* planned = std::get_if<Planned>(&result)) {
      ++plans;
      CHECK_FALSE(exceeds(planned->plan, problem.platform));
      continue;
    }
    ++infeasible;
    const auto smallest = std::get<Infeasible>(result).smallest_memory;
    REQUIRE(smallest.has_value());
    CHECK(std::holds_alternative<Planned>(planner().plan(problem.with_memory(smallest->value()).request())));
    CHECK(std::holds_alternative<Infeasible>(planner().plan(problem.with_memory(smallest->value() - 1).request())));
  }
  CHECK(plans > 50);
  CHECK(infeasible > 20);
}

TEST_CASE("contiguous: the optimizer steps of the slowest device count") {
  MemoryProblem problem = problem_m1(60);
  problem.platform.spec.device_kinds[DeviceKindId(0)].update_bandwidth = BytesPerSecond(2);
  // Two copies move, weights and gradients: layers take W more, 7, 7, 11 and 7 s.
  const Chain chain = problem.chain();
  CHECK(chain.load(0, 4) == 32'000'000'000);
  CHECK(chain.load(2, 3) == 11'000'000'000);
}

}  // namespace stagecraft::contiguous_plan_test
