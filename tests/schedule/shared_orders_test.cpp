#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
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

}  // namespace

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
