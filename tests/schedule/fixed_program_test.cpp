#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/check_schedule.hpp"
#include "sim/schedule/device_peaks.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/fixed_plans.hpp"

#include <doctest/doctest.h>

#include <string>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

/// Whether a pipeline of the schedule accepts the number of microbatches.
bool is_accepted(const ScheduleFamily& family, std::size_t devices, std::int64_t microbatches) {
  return refusal_of(fixed_plan({family.name, {}}, devices, microbatches)).empty();
}

TEST_CASE("fixed orders: all microbatches run, what is in flight is counted, and memory is that of the run") {
  for (const ScheduleFamily* family : fixed_families()) {
    CAPTURE(family->name);
    for (const std::size_t devices : {1U, 2U, 3U, 5U}) {
      for (std::int64_t microbatches = 1; microbatches <= 22; ++microbatches) {
        if (!is_accepted(*family, devices, microbatches)) continue;
        CAPTURE(devices);
        CAPTURE(microbatches);
        Plan plan = fixed_plan({family->name, {}}, devices, microbatches);
        plan.training.input_gradient_release = 0.25 * static_cast<double>(microbatches % 3);
        LayerGraph graph = chain(layers_of(plan), 2, 4, 40, 1000, 100);
        for (Layer& layer : graph.layers) layer.workspace = Bytes(30);
        const Platform platform = pairwise(devices, 100, 0.5);
        const ScheduleProgram program = require_schedule(graph, platform, plan);
        CHECK(program.in_flight == in_flight_of(program.orders({0, microbatches}), plan.stages.size()));
        const Report report = evaluate_plan(graph, platform, plan);
        const auto peaks = device_peaks(graph, program);
        REQUIRE(peaks);
        for (std::size_t d = 0; d < devices; ++d) CHECK((*peaks)[d].second == report.devices[d].memory.peak);
      }
    }
  }
}

/// The schedules of the family, by the number of stages on each device if it can be chosen.
std::vector<ScheduleChoice> choices_of(const ScheduleFamily& family) {
  std::vector<ScheduleChoice> choices;
  for (const OptionInfo& option : family.parameters) {
    if (option.name != "chunks" && option.name != "waves") continue;
    const auto least = std::get<std::int64_t>(option.default_value);
    for (std::int64_t n = least; n < least + 3; ++n) choices.push_back({family.name, {{option.name, n}}});
  }
  if (choices.empty()) choices.push_back({family.name, {}});
  return choices;
}

// Lowering refuses orders that deadlock.
TEST_CASE("fixed orders: every size up to 12 devices and 40 microbatches has a valid order or is refused") {
  std::int64_t size = 0;
  for (const ScheduleFamily* family : fixed_families()) {
    for (const ScheduleChoice& choice : choices_of(*family)) {
      CAPTURE(schedule_text(choice));
      for (std::size_t devices = 1; devices <= 12; ++devices) {
        for (std::int64_t microbatches = 1; microbatches <= 40; ++microbatches) {
          if (!draws_all() && ++size % 17 != 0) continue;
          CAPTURE(devices);
          CAPTURE(microbatches);
          const Plan plan = fixed_plan(choice, devices, microbatches);
          if (!refusal_of(plan).empty()) continue;
          const ScheduleProgram program = compiled(plan);
          const Schedule orders = program.orders({0, microbatches});
          CHECK(check_schedule(chain_for(plan), pairwise_for(plan), plan, orders).empty());
          CHECK_NOTHROW(static_cast<void>(evaluate_program(chain_for(plan), pairwise_for(plan), program)));
        }
      }
    }
  }
}

TEST_CASE("fixed orders: counts of a long run are those of its whole orders") {
  for (const ScheduleFamily* family : fixed_families()) {
    CAPTURE(family->name);
    for (const std::size_t devices : {4U, 40U, 100U}) {
      if (devices == 100 && !draws_all()) continue;
      CAPTURE(devices);
      const std::size_t on_few = draws_all() ? 4096 : 1024;
      const auto microbatches = static_cast<std::int64_t>(devices * (devices == 4 ? on_few : 10));
      const Plan plan = fixed_plan({family->name, {}}, devices, microbatches);
      const ScheduleProgram program = compiled(plan);
      CHECK(program.in_flight == in_flight_of(program.orders({0, microbatches}), plan.stages.size()));
    }
  }
}

TEST_CASE("fixed orders: replicas run the orders of one by themselves, each with microbatches in turn") {
  for (const ScheduleFamily* family : fixed_families()) {
    CAPTURE(family->name);
    const auto orders = compiled(fixed_plan({family->name, {}}, 2, 4)).orders({0, 4}).devices;
    for (const std::size_t replicas : {2U, 3U}) {
      const auto all = static_cast<std::int64_t>(4 * replicas);
      const Plan plan = fixed_plan({family->name, {}}, 2, all, replicas);
      const ScheduleProgram program = compiled(plan);
      const auto pipelines = static_cast<std::size_t>(Replicas(plan).pipelines());
      CHECK(program.in_flight == compiled(fixed_plan({family->name, {}}, 2, 4)).in_flight);
      for (const DeviceOrder& order : program.orders({0, all}).devices) {
        std::vector<Action> expected = orders[order.device.value() % 2].actions;
        for (Action& action : expected) {
          const auto of_direction = action.microbatch / pipelines * replicas + order.device.value() / 2;
          action.microbatch = static_cast<std::uint32_t>(of_direction * pipelines + action.microbatch % pipelines);
        }
        CHECK(order.actions == expected);
      }
    }
  }
}

TEST_CASE("fixed orders: replicas may differ by a microbatch where the schedule takes any number") {
  const ScheduleProgram program = compiled(fixed_plan({"zb-v", {}}, 2, 9, 2));
  CHECK(program.in_flight == compiled(fixed_plan({"zb-v", {}}, 2, 5)).in_flight);
  const auto devices = program.orders({0, 9}).devices;
  REQUIRE(devices.size() == 4);
  CHECK(devices[0].actions.size() == 5 * 2 * 3);
  CHECK(devices[2].actions.size() == 4 * 2 * 3);
}

TEST_CASE("fixed orders: a plan whose stages lie elsewhere is refused") {
  const auto refusal = [](const std::string& schedule, const auto& change, std::size_t replicas = 1) {
    Plan plan = fixed_plan({schedule, {}}, 2, 8, replicas);
    change(plan);
    return refusal_of(plan);
  };
  CHECK(refusal("zb-v", [](Plan&) {}).empty());
  CHECK(refusal("zb-v", [](Plan& plan) { plan.stages.pop_back(); }) ==
        "zb-v gives each device 2 stages, but the plan has 3");
  CHECK(refusal("zb-v", [](Plan& plan) { std::swap(plan.stages[2].replicas, plan.stages[3].replicas); }) ==
        "zb-v has stage 2 on the device of stage 1, but the plan has not");
  CHECK(refusal("looped-bfs", [](Plan& plan) { std::swap(plan.stages[2].replicas, plan.stages[3].replicas); }) ==
        "looped-bfs has stage 2 on the device of stage 0, but the plan has not");
  CHECK(refusal("zb-h1", [](Plan& plan) { plan.stages[1].replicas = plan.stages[0].replicas; }) ==
        "zb-h1 gives each device 1 stage, but some device has more");
  CHECK(refusal("zb-h1", [](Plan& plan) { plan.stages[1].replicas = {DeviceId(1), DeviceId(2)}; }) ==
        "zb-h1 has equally many replicas of every stage, but stage 1 has 2 and stage 0 has 1");
  CHECK(refusal("zb-h1", [](Plan& plan) { plan.stages[1].pipeline = 1; }) ==
        "zb-h1 has stage 1 in pipeline 0, but the plan has it in pipeline 1");
  const std::string in_turn = " gives the replicas of a stage whole microbatches in turn, equally many, but not those";
  CHECK(refusal("zb-h1", [](Plan& plan) { plan.stages[0].shares = {2, 1}; }, 2) == "zb-h1" + in_turn + " of stage 0");
  CHECK(refusal(
            "zb-v", [](Plan& plan) { plan.stages[1].replication = Replication::Split; }, 2) ==
        "zb-v" + in_turn + " of stage 1");
  CHECK(refusal("zb-v", [](Plan& plan) { plan.stages[0].in_flight = 1; }).ends_with("more than its cap of 1"));
}

TEST_CASE("fixed orders: hints say what to do") {
  const auto hint = [](const Plan& plan) {
    const Compilation compiled = compile_schedule(chain_for(plan), pairwise_for(plan), plan);
    return std::get<ScheduleRefusals>(compiled).front().hint;
  };
  Plan plan = fixed_plan({"zb-v", {}}, 2, 8);
  plan.stages.pop_back();
  CHECK(hint(plan) == "the planners uniform and gpipe cut the model for the schedule");
  plan = fixed_plan({"looped-bfs", {}}, 2, 8);
  plan.stages.pop_back();
  CHECK(hint(plan) == "choose the number of stages on each device with the parameter 'chunks'");
  plan = fixed_plan({"hanayo", {}}, 2, 8);
  plan.stages.pop_back();
  CHECK(hint(plan) == "choose the number of times that stages go down and up the devices with the parameter 'waves'");
  const std::string nearest = hint(fixed_plan({"interleaved-zb-h1", {}}, 4, 9));
  CHECK(nearest == "choose 8 or 10 microbatches, of 6720 or 8400 samples in all");
}

}  // namespace
}  // namespace stagecraft
