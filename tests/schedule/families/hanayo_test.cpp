#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/fixed_plans.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

Plan waves_plan(std::int64_t waves, std::size_t devices, std::int64_t microbatches) {
  return fixed_plan({"hanayo", {{"waves", waves}}}, devices, microbatches);
}

/// With forwards of 1 s and backwards of 2 s, and transfers that take no time.
Report report_of(std::int64_t waves, std::size_t devices, std::int64_t microbatches) {
  const Plan plan = waves_plan(waves, devices, microbatches);
  return evaluate_plan(chain(plan.stages.size(), 1, 2), pairwise(devices), plan);
}
double time_of(std::int64_t waves, std::size_t devices, std::int64_t microbatches) {
  return report_of(waves, devices, microbatches).iterations.back().value();
}

TEST_CASE("hanayo: stages stay on their device where a wave turns") {
  const Placement placement = find_family("hanayo")->placement(3, schedule_parameters({"hanayo", {{"waves", 2}}}));
  const std::array expected = {0U, 1U, 2U, 2U, 1U, 0U, 0U, 1U, 2U, 2U, 1U, 0U};
  CHECK(std::ranges::equal(placement, expected, {}, &Chunk::device));
}

TEST_CASE("hanayo: the orders of two devices") {
  const Schedule schedule = compiled(waves_plan(1, 2, 3)).orders({0, 3});
  CHECK(order_text(schedule.devices[0]) == "F0.0 F0.1 F3.0 B3.0 F3.1 B3.1 B0.0 F0.2 B0.1 F3.2 B3.2 B0.2");
  CHECK(order_text(schedule.devices[1]) == "F1.0 F2.0 F1.1 F2.1 B2.0 B1.0 B2.1 B1.1 F1.2 F2.2 B2.2 B1.2");
}

TEST_CASE("hanayo: the bubble of as many microbatches as devices is as published, or smaller with one wave") {
  for (const auto& [waves, time] : {std::pair(1, 36), std::pair(2, 61), std::pair(4, 109)}) {
    CHECK(time_of(waves, 4, 4) == doctest::Approx(time).epsilon(1e-9));
    CHECK(report_of(waves, 4, 4).bubble_ratio == doctest::Approx(1 - 24.0 * waves / time).epsilon(1e-9));
  }
  for (const std::size_t p : {2U, 3U, 4U, 8U, 12U}) {
    CAPTURE(p);
    const auto devices = static_cast<double>(p);
    CHECK(time_of(1, p, static_cast<std::int64_t>(p)) == doctest::Approx(10 * devices - 4).epsilon(1e-9));
    for (const std::int64_t waves : {1, 2, 4}) {
      CAPTURE(waves);
      const double told = (2 * devices - 2) / (3 * devices * static_cast<double>(waves) + devices - 1);
      const double found = report_of(waves, p, static_cast<std::int64_t>(p)).bubble_ratio;
      CHECK(found < 1.02 * told);
      if (waves > 1) CHECK(found > 0.85 * told);
    }
  }
}

TEST_CASE("hanayo: more waves leave a smaller bubble, and each unit of microbatches takes as long as the one before") {
  for (const std::size_t p : {2U, 3U, 4U, 7U, 8U}) {
    CAPTURE(p);
    const auto unit = static_cast<std::int64_t>(p);
    for (const std::int64_t waves : {1, 2, 3}) {
      CAPTURE(waves);
      const double step = time_of(waves, p, 3 * unit) - time_of(waves, p, 2 * unit);
      CHECK(step > 3.0 * static_cast<double>(2 * waves * unit));  // the work of a device, and some idle time
      CHECK(time_of(waves, p, 8 * unit) - time_of(waves, p, 3 * unit) == doctest::Approx(5 * step).epsilon(1e-9));
      for (const std::int64_t units : {1, 2, 8}) {
        CHECK(report_of(2 * waves, p, units * unit).bubble_ratio < report_of(waves, p, units * unit).bubble_ratio);
      }
    }
  }
}

/// By device: the most stashes of its stages that it holds.
std::vector<std::int64_t> held_by(const Schedule& schedule) {
  std::vector<std::int64_t> most;
  for (const DeviceOrder& order : schedule.devices) {
    std::int64_t held = 0;
    std::int64_t& own = most.emplace_back();
    for (const Action& action : order.actions) {
      held += action.kind == ActionKind::Forward ? 1 : -1;
      own = std::max(own, held);
    }
  }
  return most;
}

TEST_CASE("hanayo: a device holds at most the stashes of as many microbatches as there are devices") {
  for (std::size_t p = 1; p <= 12; ++p) {
    for (const std::int64_t waves : {1, 2}) {
      for (std::int64_t m = 1; m <= 40; ++m) {
        CAPTURE(p);
        CAPTURE(waves);
        CAPTURE(m);
        const ScheduleProgram program = compiled(waves_plan(waves, p, m));
        const std::vector<std::int64_t> held = held_by(program.orders({0, m}));
        REQUIRE(held.size() == p);
        CHECK(std::ranges::max(held) == 2 * waves * std::min(m, static_cast<std::int64_t>(p)));
      }
    }
  }
}

TEST_CASE("hanayo: stages that do not lie on a wave, and caps below the order's, are refused") {
  Plan plan = waves_plan(2, 2, 4);
  std::swap(plan.stages[4].replicas, plan.stages[5].replicas);
  CHECK(refusal_of(plan) == "hanayo has stage 4 on the device of stage 0, but the plan has not");
  plan = waves_plan(1, 2, 4);
  plan.schedule.parameters = {{"waves", 2}};
  CHECK(refusal_of(plan) == "hanayo has stage 1 on the device of stage 0, but the plan has not");
  plan = waves_plan(1, 2, 4);
  plan.stages[0].in_flight = 1;
  CHECK(refusal_of(plan) == "hanayo keeps 3 microbatches of stage 0 in flight, more than its cap of 1");
}

}  // namespace
}  // namespace stagecraft
