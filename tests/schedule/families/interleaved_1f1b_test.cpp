#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

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

TEST_CASE("interleaved-1f1b: replicas run the order of one by themselves, each with microbatches in turn") {
  const Plan one = round_plan(2, 2, 4);
  const auto orders = compiled(one).orders({0, 4}).devices;
  for (const std::int64_t replicas : {2, 3}) {
    Plan plan = round_plan(2, 2, 4 * replicas);
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      plan.stages[s].replicas.clear();
      for (std::int64_t i = 0; i < replicas; ++i) plan.stages[s].replicas.emplace_back(DeviceId(s % 2 + 2 * i));
    }
    const ScheduleProgram program = compiled(plan);
    CHECK(program.in_flight == compiled(one).in_flight);
    for (const DeviceOrder& order : program.orders({0, plan.microbatches}).devices) {
      const auto replica = static_cast<std::int64_t>(order.device.value() / 2);
      std::vector<Action> expected = orders[order.device.value() % 2].actions;
      for (Action& action : expected) {
        action.microbatch = static_cast<std::uint32_t>(action.microbatch * replicas + replica);
      }
      CHECK(order.actions == expected);
    }
    const Report report = evaluate_plan(chain(4, 1, 2), pairwise(2 * static_cast<std::size_t>(replicas)), plan);
    CHECK(report.iterations.back().value() == doctest::Approx(3 * (4 * 2 + 2 - 1)).epsilon(1e-9));
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
  CHECK(refusal([](Plan& plan) { plan.stages[2].replicas = {DeviceId(1)}; }) ==
        "interleaved-1f1b assigns stages to devices in turn, but stage 2 is not on the device of stage 0");
  CHECK(refusal([](Plan& plan) {
          for (Stage& stage : plan.stages) stage.replicas = {DeviceId(0)};
        }) == "interleaved-1f1b gives each device 2 stages, but some device has more");
  CHECK(refusal([](Plan& plan) { plan.stages[2].replicas = {DeviceId(0), DeviceId(2)}; }) ==
        "interleaved-1f1b has equally many replicas of every stage, but stage 2 has 2 and stage 0 has 1");
  const auto with_two = [&](const auto& change) {
    return refusal([&](Plan& plan) {
      for (std::size_t s = 0; s < 4; ++s) plan.stages[s].replicas = {DeviceId(s % 2), DeviceId(2 + s % 2)};
      change(plan);
    });
  };
  CHECK(with_two([](Plan&) {}).empty());
  CHECK(with_two([](Plan& plan) { plan.microbatches = 6; }) ==
        "interleaved-1f1b on 2 devices with 2 replicas needs a multiple of 4 microbatches, but the plan has 6");
  const std::string in_turn = "interleaved-1f1b gives the replicas of a stage whole microbatches in turn, equally many";
  CHECK(with_two([](Plan& plan) { plan.stages[0].shares = {2, 1}; }).starts_with(in_turn));
  CHECK(with_two([](Plan& plan) {
          for (Stage& stage : plan.stages) stage.replication = Replication::Split;
        }).starts_with(in_turn));
  CHECK(refusal([](Plan& plan) { plan.stages[3].pipeline = 1; }) ==
        "interleaved-1f1b runs a single pipeline, but stage 3 belongs to another one");
  CHECK(refusal([](Plan& plan) { plan.stages[0].in_flight = 1; }).ends_with("in flight, more than its cap of 1"));
  CHECK(
      refusal([](Plan& plan) { plan.schedule.parameters = {{"chunks", 1}}; }) ==
      "parameter 'chunks' of schedule 'interleaved-1f1b': expected a count of at least 2 and at most 1024, found '1'");
}

}  // namespace
}  // namespace stagecraft
