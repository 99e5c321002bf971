// What passes and updates take beside layers and bytes, in both engines.
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/analytic/lower_bound.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/device_loads.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/fixed_plans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace stagecraft::overheads_test {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

namespace {

Platform with_overheads(Platform platform, double pass, double update) {
  PlatformSpec spec = std::move(platform.spec);
  for (DeviceKind& kind : spec.device_kinds) {
    kind.pass_overhead = Seconds(pass);
    kind.update_overhead = Seconds(update);
  }
  return build_platform(std::move(spec));
}

double iteration(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  return evaluate_plan(graph, platform, plan).iterations.back().value();
}

/// How many backwards the orders split, and how many run whole.
std::pair<std::int64_t, std::int64_t> split_and_whole(const ScheduleProgram& program) {
  std::pair<std::int64_t, std::int64_t> counted;
  for (const DeviceOrder& order : program.orders({0, program.kept->plan.microbatches}).devices) {
    counted.first += std::ranges::count(order.actions, ActionKind::BackwardWeight, &Action::kind);
    counted.second += std::ranges::count(order.actions, ActionKind::Backward, &Action::kind);
  }
  return counted;
}

}  // namespace

TEST_CASE("overheads: without transfers an iteration takes (m + p - 1)(f + b + 2 o) and an update's overhead") {
  const double f = 0.012;
  const double b = 0.027;
  for (const std::size_t p : {1, 2, 4, 7}) {
    for (const std::int64_t m : {1, 3, 8, 20}) {
      for (const char* schedule : {"gpipe", "1f1b", "eager-1f1b"}) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(schedule);
        const Platform platform = with_overheads(pairwise(p), 0.003, 0.5);
        const Report report = evaluate_plan(chain(p, f, b), platform, straight(p, m, schedule));
        const double passes = static_cast<double>(m + static_cast<std::int64_t>(p) - 1) * (f + b + 2 * 0.003);
        CHECK(report.iterations.back().value() == doctest::Approx(passes + 0.5).epsilon(1e-12));
        for (const DeviceReport& device : report.devices) {
          CHECK(device.time.update.value() == doctest::Approx(0.5).epsilon(1e-12));
          CHECK(device.time.compute.value() == doctest::Approx(static_cast<double>(m) * (f + b + 0.006)));
        }
      }
    }
  }
}

TEST_CASE("overheads: a share of a microbatch, a faster kind and a slowdown") {
  PlatformSpec spec = with_overheads(pairwise(2), 0.25, 0.0).spec;
  spec.device_kinds[DeviceKindId(0)].name = "fast";
  spec.device_kinds[DeviceKindId(0)].speed = 4.0;
  spec.speeds["K"] = 1.0;
  Plan plan = straight(1, 1, "gpipe");
  plan.stages[0].replicas = {DeviceId(0), DeviceId(1)};
  plan.stages[0].replication = Replication::Split;
  Platform platform = build_platform(spec);
  const LayerGraph graph = chain(1, 8, 16);
  CHECK(iteration(graph, platform, plan) == doctest::Approx((8.0 + 16.0) / 2 / 4 + 2 * 0.25));
  for (Device& device : platform.devices) device.slowdown = 3.0;  // as one that is in force during a run
  CHECK(iteration(graph, platform, plan) == doctest::Approx(3 * ((8.0 + 16.0) / 2 / 4 + 2 * 0.25)));
}

TEST_CASE("overheads: a recomputation has none of its own") {
  Plan plan = straight(1, 3, "gpipe");
  plan.stages[0].memory = {Recompute{{LayerId(0)}}};
  CHECK(iteration(chain(1, 1, 2), with_overheads(pairwise(1), 0.25, 0.0), plan) ==
        doctest::Approx(3 * (1.0 + 1.0 + 2.0 + 2 * 0.25)));
}

TEST_CASE("overheads: stages that share a device are updated at once, and each by itself without a flush") {
  const Platform platform = with_overheads(pairwise(2), 0.0, 7.0);
  Plan plan = fixed_plan({"interleaved-1f1b", {{"chunks", std::int64_t{3}}}}, 2, 4);
  const double passes = iteration(chain(6, 1, 2), pairwise(2), plan);
  CHECK(iteration(chain(6, 1, 2), platform, plan) == doctest::Approx(passes + 7));
  // One device alternates between both stages: each backward is followed by an update of its stage.
  plan = straight(2, 100, "pipedream");
  plan.stages[1].replicas = {DeviceId(0)};
  const Report report = evaluate_plan(chain(2, 1, 2), with_overheads(pairwise(1), 0.0, 0.5), plan);
  CHECK(report.period->value() == doctest::Approx(2 * (1.0 + 2.0 + 0.5)));
}

TEST_CASE("overheads: the bytes of a step come on top, for tied parameters only where they change") {
  PlatformSpec spec = with_overheads(pairwise(2), 0.0, 3.0).spec;
  spec.device_kinds[DeviceKindId(0)].update_bandwidth = BytesPerSecond(100);
  const Report report =
      evaluate_plan(chain(2, 1, 2, 0, 0, 10), build_platform(std::move(spec)), straight(2, 2, "1f1b"));
  CHECK(report.iterations.back().value() == doctest::Approx(9.4 + 3));
  CHECK(report.devices[0].time.update.value() == doctest::Approx(3.4));
}

// Whole backwards take b + o, split ones b + 2 o: what a device computes follows from the orders.
TEST_CASE("overheads: each half of a split backward has one, with every schedule") {
  constexpr double kOverhead = 0.125;
  std::int64_t split_somewhere = 0;
  for (const ScheduleFamily* family : all_families()) {
    if (family->orders == nullptr && family->name != "zb-auto") continue;
    CAPTURE(family->name);
    const Plan plan = family->orders != nullptr ? fixed_plan({family->name, {}}, 4, 12) : straight(4, 12, family->name);
    const std::size_t layers = layers_of(plan);
    const LayerGraph graph = chain(layers, 1, 2);
    const Platform platform = with_overheads(pairwise(4), kOverhead, 0.0);
    const ScheduleProgram program = require_schedule(graph, platform, plan);
    const auto [split, whole] = split_and_whole(program);
    split_somewhere += split;
    const Report report = evaluate_program(graph, platform, program);
    double computed = 0.0;
    for (const DeviceReport& device : report.devices) computed += device.time.compute.value();
    const auto passes = static_cast<double>(2 * (split + whole) + split);
    CHECK(computed == doctest::Approx(static_cast<double>(split + whole) * 3 + passes * kOverhead).epsilon(1e-12));
    const auto loads = device_loads(graph, platform, program);
    REQUIRE(loads.size() == report.devices.size());
    for (std::size_t at = 0; at < loads.size(); ++at) {
      CHECK(loads[at].second.value() == doctest::Approx(report.devices[at].time.compute.value()).epsilon(1e-12));
    }
    const std::optional<LowerBound> bound = lower_bound(graph, platform, program);
    REQUIRE(bound.has_value());
    CHECK(bound->time <= report.iterations.back() * (1 + 1e-9));
  }
  CHECK(split_somewhere > 100);
}

// If all backwards are split, the run is that of a layer that takes as much longer.
TEST_CASE("overheads: where every backward is split, longer layers give the same run") {
  for (const char* schedule : {"zb-h2", "zb-v", "zb-auto"}) {
    CAPTURE(schedule);
    const bool is_fixed = std::string(schedule) != "zb-auto";
    const Plan plan = is_fixed ? fixed_plan({schedule, {}}, 4, 12) : straight(4, 12, schedule);
    LayerGraph graph = chain(plan.stages.size(), 1, 2);
    const Platform platform = with_overheads(pairwise(4), 0.25, 0.0);
    if (split_and_whole(require_schedule(graph, platform, plan)).second > 0) continue;
    const double time = iteration(graph, platform, plan);
    for (Layer& layer : graph.layers) {
      layer.forward += Seconds(0.25);
      layer.backward += Seconds(0.5);
      layer.backward_weight += Seconds(0.25);
    }
    CHECK(time == doctest::Approx(iteration(graph, pairwise(4), plan)).epsilon(1e-12));
  }
}

}  // namespace stagecraft::overheads_test
