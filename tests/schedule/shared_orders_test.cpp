#include "sim/analytic/evaluate_plan.hpp"
#include "sim/model/replicas.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/orders_text.hpp"
#include "tests/schedule/shared_plans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <span>
#include <vector>

namespace stagecraft::shared_orders_test {

using namespace stagecraft::testing;

namespace {

/// One stage of one layer on each of these devices in turn.
Plan on_devices(const std::vector<std::size_t>& devices, std::int64_t microbatches) {
  Plan plan = straight(devices.size(), microbatches, "gpipe");
  for (std::size_t s = 0; s < devices.size(); ++s) plan.stages[s].replicas = {DeviceId(devices[s])};
  return plan;
}

/// A chain with a forward of so many seconds for each layer, and backwards of twice that.
LayerGraph layers_of(const std::vector<double>& times) {
  LayerGraph graph = chain(times.size(), 1, 2);
  for (std::size_t i = 0; i < times.size(); ++i) {
    graph.layers[LayerId(i)].forward = Seconds(times[i]);
    graph.layers[LayerId(i)].backward = Seconds(2 * times[i]);
  }
  return graph;
}

/// The last stage of the pipeline that runs the microbatch.
StageId last_stage(const Replicas& replicas, const Plan& plan, std::uint32_t microbatch) {
  StageId last;
  for (StageId id : indices<StageId>(plan.stages.size())) {
    if (!replicas.runners(id, microbatch).empty()) last = id;
  }
  return last;
}

/// By replica of a last stage: when the forwards of all its microbatches have ended, and when the first backward of one
/// of them starts, on whatever device.
struct Barrier {
  Seconds last_forward;
  Seconds first_backward = kNever;
};

std::map<ReplicaId, Barrier> barriers_of(const RandomCase& made, const Replicas& replicas) {
  std::map<ReplicaId, Barrier> barriers;
  const SpanSink watch = [&](const Span& span, const Op& op, std::span<const MemoryDelta>) {
    if (op.kind != OpKind::Forward && op.kind != OpKind::Backward) return;
    const StageId last = last_stage(replicas, made.plan, op.microbatch);
    if (made.plan.stages[last.value()].replication == Replication::Split) return;  // each part has its own loss
    Barrier& barrier = barriers[replicas.runners(last, op.microbatch).front()];
    if (op.kind == OpKind::Forward) barrier.last_forward = std::max(barrier.last_forward, span.end);
    if (op.kind == OpKind::Backward) barrier.first_backward = std::min(barrier.first_backward, span.start);
  };
  static_cast<void>(evaluate_plan(made.graph, made.platform, made.plan, {}, {}, watch));
  return barriers;
}

}  // namespace

TEST_CASE(
    "shared orders: gpipe has a barrier for each replica of a last stage, 200 plans with replicas and pipelines") {
  std::size_t several = 0;
  for (std::uint32_t seed = 1; seed <= random_cases(200U); ++seed) {
    CAPTURE(seed);
    const RandomCase made = shared_plan(seed, "gpipe");
    const auto barriers = barriers_of(made, Replicas(made.plan));
    for (const auto& [replica, barrier] : barriers) CHECK(barrier.first_backward >= barrier.last_forward);
    several += barriers.size() > 1 ? 1 : 0;
  }
  CHECK(several > random_cases(200U) / 8);
}

TEST_CASE("shared orders: losses of gpipe do not wait for one another") {
  // Two replicas of a last stage on devices 1 and 2 take the microbatches of stage 0 in turn. Forwards take 1 s on
  // stage 0 and 2 s on stage 1. F0.0 to F0.3 end at 1 to 4 s; F1.0 and F1.2 end at 3 and 5 s on device 1, F1.1 and F1.3
  // at 4 and 6 s on device 2. So B1.0 starts at 5 s, while F1.3 still runs for the other loss.
  RandomCase made{chain(2, 1, 2), pairwise(3), straight(2, 4, "gpipe")};
  made.graph.layers[LayerId(1)].forward = Seconds(2);
  made.plan.stages[1].replicas = {DeviceId(1), DeviceId(2)};
  std::map<std::uint32_t, double> backwards;
  const SpanSink watch = [&](const Span& span, const Op& op, std::span<const MemoryDelta>) {
    if (op.kind == OpKind::Backward && op.stage == StageId(1)) backwards[op.microbatch] = span.start.value();
  };
  static_cast<void>(evaluate_plan(made.graph, made.platform, made.plan, {}, {}, watch));
  CHECK(backwards.at(0) == doctest::Approx(5.0));
  CHECK(backwards.at(1) == doctest::Approx(6.0));
}

TEST_CASE("shared orders: gpipe runs the forwards of all stages of a device first, in an order from their times") {
  // Stages 0 and 2 are on device 0. Stage 1 takes 3 s and ends its forwards at 4, 7 and 10 s; till then device 0 has
  // ended F0 of all microbatches (rounds of one unit would place F2.0 before F0.2). F2.2 ends at 11 s. The backwards
  // take twice as long: B2 end at 13, 15 and 17 s, B1 at 19, 25 and 31 s, and the last B0 at 33 s.
  const LayerGraph graph = layers_of({1, 3, 1});
  const Plan plan = on_devices({0, 1, 0}, 3);
  const ScheduleProgram program = require_schedule(graph, pairwise(2), plan);
  const Schedule orders = program.orders({0, 3});
  CHECK(order_text(orders.devices[0]) == "F0.0 F0.1 F0.2 F2.0 F2.1 F2.2 B2.0 B2.1 B2.2 B0.0 B0.1 B0.2");
  CHECK(order_text(orders.devices[1]) == "F1.0 F1.1 F1.2 B1.0 B1.1 B1.2");
  CHECK(evaluate_plan(graph, pairwise(2), plan).iterations.back().value() == doctest::Approx(33.0).epsilon(1e-12));
}

TEST_CASE("shared orders: gpipe on random placements has a barrier and all microbatches in flight") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::size_t devices = 2 + random() % 3;
    std::vector<std::size_t> places(devices + 1 + random() % 4);
    std::vector<double> times(places.size());
    for (std::size_t& place : places) place = random() % devices;
    places[0] = places[1];  // shared in any case
    for (double& time : times) time = static_cast<double>(1 + random() % 9);
    const auto microbatches = static_cast<std::int64_t>(1 + random() % 8);
    const LayerGraph graph = layers_of(times);
    const Platform platform = pairwise(devices);
    const Plan plan = on_devices(places, microbatches);

    Seconds last_forward;
    Seconds first_backward = kNever;
    const SpanSink watch = [&](const Span& span, const Op& op, std::span<const MemoryDelta>) {
      if (op.kind == OpKind::Forward) last_forward = std::max(last_forward, span.end);
      if (op.kind == OpKind::Backward) first_backward = std::min(first_backward, span.start);
    };
    const Report report = evaluate_plan(graph, platform, plan, {}, {}, watch);
    CHECK(first_backward >= last_forward);
    for (const DeviceReport& device : report.devices) {
      const auto stages = std::ranges::count(places, device.device.value());
      CHECK(device.in_flight_peak == stages * microbatches);
    }
    // With free transfers some device works until all is done, and the busiest one does all its work.
    std::vector<double> work(devices);
    double all = 0.0;
    for (std::size_t s = 0; s < places.size(); ++s) {
      work[places[s]] += 3 * times[s] * static_cast<double>(microbatches);
      all += 3 * times[s] * static_cast<double>(microbatches);
    }
    const double iteration = report.iterations.back().value();
    CHECK(iteration <= all * (1 + 1e-12));
    CHECK(iteration >= std::ranges::max(work) * (1 - 1e-12));
    // A microbatch goes through all stages and back.
    CHECK(iteration >= 3 * std::accumulate(times.begin(), times.end(), 0.0) * (1 - 1e-12));
  }
}

}  // namespace stagecraft::shared_orders_test
