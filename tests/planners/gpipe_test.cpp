#include "planners/registry.hpp"
#include "planners/shared/cuts/balanced_cuts.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/model/replicas.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace stagecraft::gpipe_test {

using namespace stagecraft::testing;

namespace {

const PlannerInfo& gpipe() { return find_planner("gpipe"); }

Plan plan_of(const PlanResult& result) {
  REQUIRE(std::holds_alternative<Planned>(result));
  return std::get<Planned>(result).plan;
}

/// The smallest largest factor × sum over every way to cut, by trying all.
double best_of_all_cuts(const std::vector<double>& prefix, const std::vector<double>& factors, std::size_t begin,
                        std::size_t piece) {
  const std::size_t items = prefix.size() - 1;
  if (piece + 1 == factors.size()) return factors[piece] * (prefix[items] - prefix[begin]);
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t end = begin + 1; end + (factors.size() - piece - 1) <= items; ++end) {
    const double here = factors[piece] * (prefix[end] - prefix[begin]);
    best = std::min(best, std::max(here, best_of_all_cuts(prefix, factors, end, piece + 1)));
  }
  return best;
}

}  // namespace

TEST_CASE("gpipe: one stage on each device, all forwards before all backwards") {
  // Forward + backward: 3, 3, 6, 3, 3; on three devices no cut is below 6.
  const LayerGraph graph = chain({1, 1, 2, 1, 1});
  const Platform platform = flat_platform(3);
  const PlanResult result = run_planner(gpipe(), graph, platform);
  const Plan plan = plan_of(result);
  CHECK(plan.planner == "gpipe");
  CHECK(plan.schedule.name == "gpipe");
  CHECK(stage_names(graph, plan) == std::vector<std::vector<std::string>>{{"l0", "l1"}, {"l2"}, {"l3", "l4"}});
  CHECK(plan.stages[1].replicas == std::vector<Group>{DeviceId(1)});
  CHECK(plan.predicted.iteration_time->value() == doctest::Approx((8 + 3 - 1) * 6.0).epsilon(1e-12));
  const Detail::Record expected = {{"stage_time_s", 6.0}, {"imbalance", 1.0}};
  CHECK(std::get<Planned>(result).details == expected);
  // 8 forwards of 2 s, then 8 backwards of 4 s, through 3 stages; each of the 4 transfers at the ends takes 0.1 s.
  CHECK(evaluate_plan(graph, platform, plan).iterations.back().value() == doctest::Approx(60.4).epsilon(1e-12));
}

TEST_CASE("gpipe: the cut equals the best of all cuts on 400 random chains, zero layers and unequal devices included") {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    const std::size_t layers = 1 + random() % 9;
    const std::size_t pieces = 1 + random() % std::min<std::size_t>(layers, 5);
    std::vector<double> prefix = {0.0};
    for (std::size_t i = 0; i < layers; ++i) prefix.push_back(prefix.back() + static_cast<double>(random() % 6));
    std::vector<double> factors(pieces);
    for (double& factor : factors) factor = 1.0 + static_cast<double>(random() % 3);
    const std::vector<std::size_t> first = BalancedCuts(prefix).cuts(factors);
    REQUIRE(first.size() == pieces);
    CHECK(first[0] == 0);
    double largest = 0.0;
    for (std::size_t p = 0; p < pieces; ++p) {
      const std::size_t end = p + 1 < pieces ? first[p + 1] : layers;
      REQUIRE(first[p] < end);
      largest = std::max(largest, factors[p] * (prefix[end] - prefix[first[p]]));
    }
    CHECK(largest == best_of_all_cuts(prefix, factors, 0, 0));
  }
}

TEST_CASE("gpipe: a table that has answered for other numbers of pieces answers as a new one") {
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    std::vector<double> prefix = {0.0};
    for (int i = 0; i < 12; ++i) prefix.push_back(prefix.back() + static_cast<double>(random() % 6));
    BalancedCuts table(prefix);
    for (int question = 0; question < 12; ++question) {
      std::vector<double> factors(1 + random() % 12, 1.0);  // mostly the beginning of the others, or longer
      if (random() % 4 == 0) factors[random() % factors.size()] = 2.0;
      CHECK(table.cuts(factors) == BalancedCuts(prefix).cuts(factors));
    }
  }
}

TEST_CASE("gpipe: of equal cuts the last piece is the smallest") {
  // 2 and 2 either way for [1 1] [0 2] and [1 1 0] [2]: the later cut.
  CHECK(BalancedCuts({0, 1, 2, 2, 4}).cuts({1, 1}) == std::vector<std::size_t>{0, 3});
}

TEST_CASE("gpipe: a table of cuts that no machine should hold is refused") {
  CHECK_THROWS_WITH_AS((void)BalancedCuts(std::vector<double>(20001)).cuts(std::vector<double>(20000, 1.0)),
                       doctest::Contains("20000 layers in 20000 stages would take 1.49 GiB of memory, more than 1 GiB"),
                       InputError);
}

TEST_CASE("gpipe: one device, more devices than layers, layers without cost") {
  const Plan alone = plan_of(run_planner(gpipe(), chain({1, 2}), flat_platform(1)));
  CHECK(alone.stages.size() == 1);
  CHECK(alone.predicted.iteration_time->value() == doctest::Approx(8 * 9.0).epsilon(1e-12));
  const Plan few = plan_of(run_planner(gpipe(), chain({1, 2}), flat_platform(4)));
  CHECK(Replicas(few).size() == 4);
  const PlanResult nothing = run_planner(gpipe(), chain({0, 0, 0}), flat_platform(2), {{"stages", "2"}});
  CHECK(plan_of(nothing).predicted.iteration_time->value() == doctest::Approx(0.8));  // 8 tensors of 10 B at 100 B/s
  CHECK(std::get<Planned>(nothing).details[1] == std::pair<std::string, Detail>{"imbalance", 1.0});
}

TEST_CASE("gpipe: keeps every microbatch, so that many of them do not fit") {
  // One layer per stage: 4 · 100 B of copies, two buffers of 10 B, a stash of 10 B for each microbatch.
  const PlanResult fits = run_planner(gpipe(), chain({1, 1}), flat_platform(2, 100, Bytes(500)));
  CHECK(plan_of(fits).predicted.peak_memory[0].second == Bytes(400 + 20 + 80));
  const PlanResult over = run_planner(gpipe(), chain({1, 1}), flat_platform(2, 100, Bytes(500)), {}, 9);
  REQUIRE(std::holds_alternative<Infeasible>(over));
  CHECK(std::get<Infeasible>(over).excess == Bytes(10));
  CHECK(std::get<Infeasible>(over).smallest_memory == Bytes(510));
}

TEST_CASE("gpipe: recomputes whole stages on request and then keeps what enters them") {
  const LayerGraph graph = chain({1, 1, 1, 1});
  const Plan plan = plan_of(run_planner(gpipe(), graph, flat_platform(2), {{"replicas", "1"}, {"recompute", "stage"}}));
  CHECK(plan.stages[1].memory == std::vector<MemoryAction>{Recompute{{LayerId(2), LayerId(3)}}});
  // A stage: forward 2, again 2, backward 4; (8 + 2 - 1) · 8 s. Copies 800 B, buffers 20 B, 8 checkpoints of 10 B, and
  // the second layer's stash while it is there again.
  CHECK(plan.predicted.iteration_time->value() == doctest::Approx(72.0).epsilon(1e-12));
  CHECK(plan.predicted.peak_memory[0].second == Bytes(800 + 20 + 80 + 10));
}

}  // namespace stagecraft::gpipe_test
