// Runs in which something happens after a plan has been handed over to, and before any of its microbatches has entered.
#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::int64_t kOfIteration = 6;

/// Answers the first question of each cause, with a plan from the earliest microbatch on.
LowerOptions answering(std::vector<std::pair<ReplanQuestion::Cause, Plan>> answers, std::int64_t iterations) {
  LowerOptions options;
  options.iterations = iterations;
  const auto start = [answers = std::move(answers)] {
    return [answers](const Observation&, const RunPosition& position) mutable {
      for (auto answer = answers.begin(); answer != answers.end(); ++answer) {
        if (answer->first != position.cause) continue;
        const Plan plan = answer->second;
        answers.erase(answer);
        return ReplanAnswer{.change = PlanSwitch{plan, position.earliest}};
      }
      return ReplanAnswer();
    };
  };
  options.replanning = Replanning{.start = start, .window = 2, .migrating = Migrating::StopCopy};
  return options;
}

/// A stage on each of the devices.
Plan on(const std::vector<std::uint32_t>& devices) {
  Plan plan = testing::straight(devices.size(), kOfIteration, "1f1b");
  for (std::size_t s = 0; s < devices.size(); ++s) plan.stages[s].replicas = {DeviceId(devices[s])};
  return plan;
}

Plan with_replicas(const std::vector<std::uint32_t>& devices) {
  Plan plan = testing::straight(1, kOfIteration, "1f1b");
  plan.stages[0].replicas.clear();
  for (const std::uint32_t device : devices) plan.stages[0].replicas.emplace_back(DeviceId(device));
  return plan;
}

TEST_CASE(
    "superseded plans: a device that fails before a pending plan begins is left, since the others hold its layers") {
  // Three replicas take 3 s for a microbatch each. A plan without gpu1 is to follow from iteration 1 on. At 4 s, when
  // all microbatches of iteration 0 have entered, gpu1 fails for good. It begins anew on two devices: 3 rounds of 3 s.
  const LayerGraph graph = testing::chain(1, 1, 2);
  const Platform platform = testing::pairwise(3);
  const LowerOptions options = answering(
      {{ReplanQuestion::Cause::Window, with_replicas({0, 2})}, {ReplanQuestion::Cause::Failure, with_replicas({0, 2})}},
      3);
  Event failure;
  failure.at = Seconds(4);
  failure.change = Failure{DeviceId(1), kForEver};
  const Report report = evaluate_plan(graph, platform, with_replicas({0, 1, 2}), options, {failure});
  CHECK(report.end.value() == doctest::Approx(4.0 + 3 * 9.0));
  const auto failed =
      std::ranges::find(report.course.questions, ReplanQuestion::Cause::Failure, &ReplanQuestion::cause);
  REQUIRE(failed != report.course.questions.end());
  CHECK(failed->first == 0U);
}

TEST_CASE("superseded plans: a layer that goes on to a third device leaves the second only when it is there") {
  // Stage 1 is to go from gpu1 to gpu2; while iteration 0 ends, another plan puts it on gpu3.
  LayerGraph graph = testing::chain(2, 1, 2);
  graph.layers[LayerId(1)].parameters = Bytes(1'000'000);
  const Platform platform = testing::pairwise(4, 1e6);
  const LowerOptions options =
      answering({{ReplanQuestion::Cause::Window, on({0, 2})}, {ReplanQuestion::Cause::Memory, on({0, 3})}}, 3);
  Event memory;
  memory.at = Seconds(15);
  memory.change = MemoryLimit{DeviceId(0), Bytes(1'000'000'000)};
  std::vector<Span> copies;
  std::vector<Op> what;
  Seconds last_backward;
  static_cast<void>(
      evaluate_plan(graph, platform, on({0, 1}), options, {memory}, [&](const Span& span, const Op& op, auto) {
        if (op.kind == OpKind::Backward && op.microbatch < kOfIteration && op.from == platform.place(DeviceId(1))) {
          last_backward = std::max(last_backward, span.end);
        }
        if (op.kind != OpKind::Migration) return;
        copies.push_back(span);
        what.push_back(op);
      }));
  REQUIRE(copies.size() == 2);
  CHECK(what[0].from == platform.place(DeviceId(1)));
  CHECK(what[1].from == platform.place(DeviceId(2)));
  CHECK(what[1].to == platform.place(DeviceId(3)));
  CHECK(copies[0].start >= last_backward);
  CHECK(copies[1].start >= copies[0].end);
}

}  // namespace
}  // namespace stagecraft
