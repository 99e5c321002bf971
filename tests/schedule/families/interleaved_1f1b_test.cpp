#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

/// One layer for each stage, round the devices.
Plan round_plan(std::size_t devices, std::int64_t chunks, std::int64_t microbatches) {
  Plan plan = straight(devices * static_cast<std::size_t>(chunks), microbatches, "interleaved-1f1b");
  plan.schedule.parameters = {{"chunks", chunks}};
  for (std::size_t s = 0; s < plan.stages.size(); ++s) plan.stages[s].replicas = {DeviceId(s % devices)};
  return plan;
}

TEST_CASE("interleaved-1f1b: microbatches in groups through one chunk after the other") {
  const ScheduleProgram program = compiled(round_plan(2, 2, 2));
  const Schedule schedule = program.orders({0, 2});
  // Megatron-LM's own table for two devices, two chunks and two microbatches.
  CHECK(order_text(schedule.devices[0]) == "F0.0 F0.1 F2.0 F2.1 B2.0 B2.1 B0.0 B0.1");
  CHECK(order_text(schedule.devices[1]) == "F1.0 F1.1 F3.0 B3.0 F3.1 B3.1 B1.0 B1.1");
  CHECK(program.orders({1, 2}).devices.empty());
}

TEST_CASE("interleaved-1f1b: counts in flight by stage are those of the run, and the time is the closed form") {
  for (const std::size_t p : {2U, 3U, 4U}) {
    for (const std::int64_t v : {2, 3}) {
      for (const auto m : {p, 2 * p, 8 * p}) {
        CAPTURE(p);
        CAPTURE(v);
        CAPTURE(m);
        const Plan plan = round_plan(p, v, static_cast<std::int64_t>(m));
        const ScheduleProgram program = compiled(plan);
        std::vector<std::int64_t> pending(plan.stages.size());
        std::vector<std::int64_t> most(plan.stages.size());
        for (const DeviceOrder& order : program.orders({0, plan.microbatches}).devices) {
          for (const Action& action : order.actions) {
            std::int64_t& count = pending[action.stage.value()];
            count += action.kind == ActionKind::Forward ? 1 : -1;
            most[action.stage.value()] = std::max(most[action.stage.value()], count);
          }
        }
        CHECK(program.in_flight == most);
        // Forward 1 s, backward 2 s, no time for transfers: (m v + p - 1)(f + b).
        const Report report = evaluate_plan(chain(plan.stages.size(), 1, 2), pairwise(p), plan);
        const double expected = static_cast<double>(static_cast<std::int64_t>(m) * v) + static_cast<double>(p) - 1;
        CHECK(report.iterations.back().value() == doctest::Approx(3 * expected).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("interleaved-1f1b: round the devices, once for each chunk") {
  const Options parameters = schedule_parameters({"interleaved-1f1b", {{"chunks", 3}}});
  const Placement placement = require_family("interleaved-1f1b").placement(2, parameters);
  REQUIRE(placement.size() == 6);
  for (std::size_t s = 0; s < placement.size(); ++s) CHECK(placement[s] == Chunk{s % 2, 0});
}

TEST_CASE("interleaved-1f1b: what it cannot run") {
  const auto refusal = [](const auto& change) {
    Plan plan = round_plan(2, 2, 4);
    change(plan);
    return refusal_of(plan);
  };
  CHECK(refusal([](Plan&) {}).empty());
  CHECK(refusal([](Plan& plan) { plan.stages.pop_back(); }) ==
        "interleaved-1f1b gives each device 2 stages, but the plan has 3");
  CHECK(refusal([](Plan& plan) { plan.microbatches = 5; }) ==
        "interleaved-1f1b on 2 devices needs a multiple of 2 microbatches, but the plan has 5");
  const auto with_two = [&](const auto& change) {
    return refusal([&](Plan& plan) {
      for (std::size_t s = 0; s < 4; ++s) plan.stages[s].replicas = {DeviceId(s % 2), DeviceId(2 + s % 2)};
      change(plan);
    });
  };
  CHECK(with_two([](Plan&) {}).empty());
  CHECK(with_two([](Plan& plan) { plan.microbatches = 6; }) ==
        "interleaved-1f1b on 2 devices needs a multiple of 2 microbatches for each of 2 replicas, but the plan has 6");
  CHECK(refusal([](Plan& plan) { plan.stages[0].in_flight = 1; }).ends_with("in flight, more than its cap of 1"));
  CHECK(
      refusal([](Plan& plan) { plan.schedule.parameters = {{"chunks", 1}}; }) ==
      "parameter 'chunks' of schedule 'interleaved-1f1b': expected a count of at least 2 and at most 1024, found '1'");
}

}  // namespace
}  // namespace stagecraft
