// The planner `dapple` where memory is short: caps on what is in flight, other plans, and sizes of microbatches.
#include "sim/analytic/evaluate_plan.hpp"
#include "tests/planners/dapple_cases.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <variant>

namespace stagecraft::dapple_test {

TEST_CASE("dapple: with little memory policy A, then fewer microbatches in flight, then none at all") {
  // Copies 400 B, buffers 20 B behind the first stage, a stash of 10 B for each in flight: 7 with policy B, 4 with A.
  const LayerGraph graph = chain({1, 1, 1, 1});
  const auto plan = [&](std::int64_t memory) {
    return run_planner(planner(), graph, flat_platform(4, 40, Bytes(memory)));
  };
  CHECK(plan_of(plan(490)).schedule.name == "eager-1f1b");
  CHECK(plan_of(plan(489)).schedule.name == "1f1b");
  CHECK_FALSE(plan_of(plan(489)).stages[0].in_flight.has_value());
  // The second stage has buffers on both sides and three in flight.
  CHECK_FALSE(plan_of(plan(470)).stages[0].in_flight.has_value());
  const PlanResult capped = plan(469);
  CHECK(plan_of(capped).stages[0].in_flight == 2);
  CHECK(std::get<Planned>(capped).notes.size() == 1);
  const PlanResult none = plan(449);
  REQUIRE(std::holds_alternative<Infeasible>(none));
  CHECK(std::get<Infeasible>(none).smallest_memory == Bytes(450));
}

TEST_CASE("dapple: the largest cap of 20,000 microbatches that fits is found at once") {
  // As above: copies 400 B, a stash of 10 B for each microbatch in flight of the first stage, of which 20,000 are tried.
  const LayerGraph graph = chain({1, 1, 1, 1});
  const Platform platform = flat_platform(4, 40, Bytes(100'420));
  const ScheduleChoice list{"spp-pe", {{"pe_exec", Detail(std::string("list"))}}};
  const Plan plan = plan_of(planner().plan({graph, platform, list, 20'000, {}, parse_options(planner(), {})}));
  const std::int64_t cap = plan.stages.front().in_flight.value_or(0);
  CHECK(cap == 9'998);  // the second stage has buffers of 40 B
}

// Whether a plan is found for a size does not grow with memory alone: a smaller microbatch may be divided among fewer
// devices, and then a device holds more layers.
TEST_CASE("dapple: the sizes of microbatches to try one by one are named, since bisection would miss some") {
  std::mt19937 random(29);
  int infeasible = 0;
  int misled = 0;
  for (int round = 0; round < random_cases(400); ++round) {
    CAPTURE(round);
    const LayerGraph whole = random_chain(random, 2 + random() % 4);
    const auto memory = static_cast<std::int64_t>(2000 + random() % 9000);
    const Platform platform = cluster(2, 2, 1000, 100, Bytes(memory));
    constexpr std::int64_t kLargest = 24;
    const auto result = [&](std::int64_t size) {
      const double scale = static_cast<double>(size) / 8.0;
      LayerGraph graph = whole;
      graph.microbatch_size = size;
      for (Layer& layer : graph.layers) {
        layer.forward = layer.forward * scale;
        layer.backward = layer.backward * scale;
        layer.stash = scale_up(Bytes(200), scale);
        layer.output = scale_up(layer.output, scale);
      }
      for (LayerEdge& edge : graph.edges) edge.bytes = scale_up(edge.bytes, scale);
      return planner().plan(request_of(graph, platform, 8));
    };
    const PlanResult at_largest = result(kLargest);
    if (std::holds_alternative<Planned>(at_largest)) continue;
    ++infeasible;
    CHECK(std::get<Infeasible>(at_largest).sizes_to_try >= kLargest);
    std::int64_t largest = 0;
    for (std::int64_t size = 1; size < kLargest; ++size) {
      if (std::holds_alternative<Planned>(result(size))) largest = size;
    }
    std::int64_t bisected = 0;  // fits, or is 0
    for (std::int64_t lacking = kLargest; lacking - bisected > 1;) {
      const std::int64_t middle = bisected + (lacking - bisected) / 2;
      (std::holds_alternative<Planned>(result(middle)) ? bisected : lacking) = middle;
    }
    misled += bisected < largest ? 1 : 0;
  }
  MESSAGE("of " << infeasible << " infeasible cases bisection misses the largest size in " << misled);
  CHECK(infeasible > 10);
  if (random_cases(400) == 400) CHECK(misled > 0);
}

// By claim and by memory: a plan that fits without a cap is DAPPLE's own, and one with a cap is judged by evaluation.
TEST_CASE("dapple: where memory limits what is in flight, a plan takes no more than three times its claim") {
  std::mt19937 random(31);
  int capped = 0;
  double worst = 0.0;
  for (int round = 0; round < random_cases(300); ++round) {
    CAPTURE(round);
    LayerGraph graph = random_chain(random, 4 + random() % 5);
    for (Layer& layer : graph.layers) layer.stash = Bytes(static_cast<std::int64_t>(100 + random() % 400));
    const auto memory = static_cast<std::int64_t>(4000 + random() % 8000);
    const Platform platform = cluster(2, 4, 1000, 1000, Bytes(memory));
    const PlanResult result =
        planner().plan(request_of(graph, platform, static_cast<std::int64_t>(16 + random() % 48)));
    const auto* planned = std::get_if<Planned>(&result);
    if (planned == nullptr) continue;
    if (planned->plan.stages[0].in_flight) ++capped;
    const Report report = evaluate_plan(graph, platform, planned->plan);
    worst = std::max(worst, report.iterations.back().value() / planned->plan.predicted.iteration_time->value());
  }
  MESSAGE(capped << " plans have a cap; the evaluation takes at most " << worst << " times the claim");
  if (random_cases(300) == 300) CHECK(capped > 10);
  CHECK(worst < 3.0);
}

}  // namespace stagecraft::dapple_test
