#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/check_schedule.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/fixed_plans.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

ScheduleChoice within(std::int64_t limit) { return {"zb-auto", {{"limit", limit}}}; }

TEST_CASE("zb-auto: equal times with the memory of 1f1b take what zb-h1 takes") {
  for (const std::size_t p : {1U, 2U, 4U, 7U}) {
    CAPTURE(p);
    const auto m = static_cast<std::int64_t>(3 * p);
    const auto time = [&](const ScheduleChoice& choice) {
      return evaluate_plan(chain(p, 1, 2), pairwise(p), fixed_plan(choice, p, m)).iterations.back().value();
    };
    CHECK(time(within(0)) == doctest::Approx(time({"zb-h1", {}})).epsilon(1e-12));
    CHECK(time(within(static_cast<std::int64_t>(2 * p))) <= time(within(0)) * (1 + 1e-12));
    CHECK(time(within(1)) >= time(within(0)) * (1 - 1e-12));
  }
}

// Chains of unequal stages with transfers, some with replicas, and every limit.
TEST_CASE("zb-auto: valid orders within the limit, never slower than 1f1b, zb-h1 and zb-h2 in as much memory") {
  for (std::uint32_t seed = 1; seed <= random_cases(200U); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto real = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
    const std::size_t p = 1 + random() % 6;
    const std::size_t replicas = 1 + random() % 2;
    const auto m = static_cast<std::int64_t>(replicas * (1 + random() % 20));
    const auto limit = static_cast<std::int64_t>(1 + random() % (2 * p));
    LayerGraph graph = chain(p, 1, 2, 100);
    for (Layer& layer : graph.layers) {
      layer.forward = Seconds(real(0.5, 2));
      layer.backward = Seconds(real(1, 4));
      layer.backward_weight = layer.backward * real(0.1, 0.9);
    }
    const Platform platform = pairwise(p * replicas, 1000, real(0, 0.1));
    const Plan plan = fixed_plan(within(limit), p, m, replicas);
    const ScheduleProgram program = require_schedule(graph, platform, plan);
    CHECK(check_schedule(graph, platform, plan, program.orders({0, m})).empty());
    const Report report = evaluate_program(graph, platform, program);
    for (const auto& device : report.devices) CHECK(device.in_flight_peak <= limit);
    for (const char* other : {"1f1b", "zb-h1", "zb-h2"}) {
      const Plan fixed = fixed_plan({other, {}}, p, m, replicas);
      if (std::ranges::max(require_schedule(graph, platform, fixed).in_flight) > limit) continue;
      CHECK(report.iterations.back() <= evaluate_plan(graph, platform, fixed).iterations.back() * (1 + 1e-9));
    }
  }
}

TEST_CASE("zb-auto: a stage's cap holds, and stages that share a device are refused") {
  Plan plan = fixed_plan(within(4), 3, 8);
  plan.stages[1].in_flight = 2;
  CHECK(compiled(plan).in_flight == std::vector<std::int64_t>{4, 2, 4});
  CHECK(in_flight_of(compiled(plan).orders({0, 8}), 3)[1] == 2);
  plan.stages[2].replicas = plan.stages[0].replicas;
  CHECK(refusal_of(plan) == "zb-auto gives each device one stage, but some device has more");
}

}  // namespace
}  // namespace stagecraft
