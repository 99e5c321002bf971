#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/check_schedule.hpp"
#include "sim/schedule/list/even_limits.hpp"
#include "sim/schedule/list/fastest_halves.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/fixed_plans.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

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

const ScheduleChoice kInMemory = {"zb-auto", {{"memory", true}}};

/// A chain of unequal stages on devices with unequal memory.
struct MemoryCase {
  std::size_t p;
  std::int64_t m;
  LayerGraph graph;
  Platform platform;

  explicit MemoryCase(std::uint32_t seed) {
    std::mt19937 random(seed);
    const auto real = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
    p = 1 + random() % 5;
    m = static_cast<std::int64_t>(1 + random() % 24);
    graph = chain(p, 1, 2, 100, 0, 1000);
    for (Layer& layer : graph.layers) {
      layer.forward = Seconds(real(0.5, 2));
      layer.backward = Seconds(real(1, 4));
      layer.backward_weight = layer.backward * real(0.1, 0.9);
      layer.stash = Bytes(static_cast<std::int64_t>(100 + random() % 200));
      layer.checkpoint = Bytes(20);
      layer.workspace = Bytes(static_cast<std::int64_t>(random() % 300));
    }
    platform = pairwise(p, 1000, real(0, 0.2));
    for (Device& device : platform.devices) {
      device.memory = Bytes(static_cast<std::int64_t>(5100 + random() % (400 * p)));
    }
  }

  [[nodiscard]] Plan plan(const ScheduleChoice& choice) const { return fixed_plan(choice, p, m); }
  [[nodiscard]] Report report(const Plan& plan) const { return evaluate_plan(graph, platform, plan); }
  [[nodiscard]] std::vector<std::int64_t> in_flight(const ScheduleChoice& choice = kInMemory) const {
    return require_schedule(graph, platform, plan(choice)).in_flight;
  }
  /// Whether so many microbatches fit on the device. In GPipe all are in flight while the first backward runs.
  [[nodiscard]] bool fits(std::size_t device, std::int64_t microbatches) const {
    const DeviceReport own = report(fixed_plan({"gpipe", {}}, p, microbatches)).devices[device];
    return own.memory.peak <= own.memory.capacity;
  }
};

TEST_CASE("zb-auto: with the memory of the devices as many are in flight as fit on each") {
  std::size_t lowered = 0;
  std::size_t lacking = 0;
  for (std::uint32_t seed = 1; seed <= random_cases(200U); ++seed) {
    CAPTURE(seed);
    const MemoryCase drawn(seed);
    const std::int64_t most = std::min(drawn.m, static_cast<std::int64_t>(4 * drawn.p));
    const std::vector<std::int64_t> in_flight = drawn.in_flight();
    const std::vector<std::int64_t> needed = drawn.in_flight({"1f1b", {}});
    const Report report = drawn.report(drawn.plan(kInMemory));
    const bool lacks = drawn.report(drawn.plan({"1f1b", {}})).out_of_memory();
    CHECK(report.out_of_memory() == lacks);
    for (std::size_t s = 0; s < drawn.p; ++s) {
      CAPTURE(s);
      CHECK(((lacks && in_flight[s] == needed[s]) || drawn.fits(s, in_flight[s])));
      CHECK((in_flight[s] == most || !drawn.fits(s, in_flight[s] + 1)));
      CHECK(report.devices[s].in_flight_peak <= in_flight[s]);
      lowered += !lacks && in_flight[s] < most ? 1 : 0;
    }
    lacking += lacks ? 1 : 0;
  }
  CHECK(lowered > 0);
  CHECK(lacking > 0);
}

TEST_CASE("zb-auto: with the memory of the devices never slower than a smaller limit, or fixed orders that fit") {
  std::size_t compared = 0;
  for (std::uint32_t seed = 1; seed <= random_cases(200U); ++seed) {
    CAPTURE(seed);
    const MemoryCase drawn(seed);
    const Report report = drawn.report(drawn.plan(kInMemory));
    if (report.out_of_memory()) continue;
    const Seconds time = report.iterations.back();
    const std::int64_t least = std::ranges::min(drawn.in_flight());
    for (std::int64_t limit = 1; limit <= least; ++limit) {
      CHECK(time <= drawn.report(drawn.plan(within(limit))).iterations.back() * (1 + 1e-9));
    }
    for (const char* other : {"1f1b", "zb-h1", "zb-h2"}) {
      const Report fixed = drawn.report(drawn.plan({other, {}}));
      if (fixed.out_of_memory()) continue;
      CHECK(time <= fixed.iterations.back() * (1 + 1e-9));
      ++compared;
    }
  }
  CHECK(compared > 10);
}

// What is made again for an input half stays until the weight half, so fewer fit than with whole backwards.
TEST_CASE("zb-auto: with recomputation and released halves it fits where fixed orders do, and is not slower") {
  std::size_t compared = 0;
  for (std::uint32_t seed = 1; seed <= random_cases(200U); ++seed) {
    CAPTURE(seed);
    const MemoryCase drawn(seed);
    const auto changed = [&](const ScheduleChoice& choice) {
      Plan plan = drawn.plan(choice);
      plan.training.input_gradient_release = 0.25 * static_cast<double>(seed % 4);
      for (std::size_t s = 0; s < drawn.p; ++s) {
        if ((seed >> s) % 2 == 0) plan.stages[s].memory = {Recompute{plan.stages[s].layers}};
      }
      return plan;
    };
    const Report report = drawn.report(changed(kInMemory));
    for (const char* other : {"1f1b", "zb-h1", "zb-h2"}) {
      const Report fixed = drawn.report(changed({other, {}}));
      if (fixed.out_of_memory()) continue;
      CHECK_FALSE(report.out_of_memory());
      CHECK(report.iterations.back() <= fixed.iterations.back() * (1 + 1e-9));
      ++compared;
    }
  }
  CHECK(compared > 10);
}

TEST_CASE("zb-auto: limit and caps hold with the memory of the devices, and where nothing fits it is out of memory") {
  Plan plan = fixed_plan({"zb-auto", {{"memory", true}, {"limit", std::int64_t{3}}}}, 3, 8);
  plan.stages[1].in_flight = 2;
  CHECK(compiled(plan).in_flight == std::vector<std::int64_t>{3, 2, 3});
  const LayerGraph graph = chain(3, 1, 2, 0, 100);
  Platform platform = pairwise(3);
  platform.devices[DeviceId(2)].memory = Bytes(50);
  CHECK(require_schedule(graph, platform, plan).in_flight == std::vector<std::int64_t>{3, 2, 1});
  CHECK(evaluate_plan(graph, platform, plan).out_of_memory());
  plan.schedule.parameters = {{"memory", std::int64_t{3}}};
  CHECK(refusal_of(plan) == "parameter 'memory' of schedule 'zb-auto': expected true|false, found '3'");
}

TEST_CASE("zb-auto: a stage has as many in flight as fit on the smallest of its devices") {
  Platform platform = pairwise(4);
  for (Device& device : platform.devices) device.memory = Bytes(1000);
  platform.devices[DeviceId(2)].memory = Bytes(550);  // of the second replica of the first stage
  const Plan plan = fixed_plan(kInMemory, 2, 32, 2);
  const LayerGraph graph = chain(2, 1, 2, 0, 100);
  CHECK(require_schedule(graph, platform, plan).in_flight == std::vector<std::int64_t>{5, 8});
}

TEST_CASE("zb-auto: limits are tried up to the caps, evenly spaced where there are many, and with that of 1f1b") {
  CHECK(even_limits(3, 8) == std::vector<std::int64_t>{1, 2, 3});
  CHECK(even_limits(10, 4) == std::vector<std::int64_t>{3, 5, 8, 10});
  CHECK(even_limits(5, 0) == std::vector<std::int64_t>{5});
  CHECK(tried_halves(fixed_plan(kInMemory, 2, 16), {3, 2}) ==
        std::vector<std::vector<std::int64_t>>{{1, 1}, {2, 2}, {3, 2}});
  const std::vector<std::int64_t> caps(64, 256);
  const auto tried = tried_halves(fixed_plan(kInMemory, 64, 1024), caps);
  CHECK(tried == std::vector<std::vector<std::int64_t>>{std::vector<std::int64_t>(64, 64), caps});
}

// Weights in several versions leave less.
TEST_CASE("zb-auto: the memory that is left counts what the plan keeps") {
  const LayerGraph graph = chain(2, 1, 2, 0, 100, 1000);
  Platform platform = pairwise(2);
  for (Device& device : platform.devices) device.memory = Bytes(4000 + 450);
  Plan plan = fixed_plan(kInMemory, 2, 16);
  CHECK(require_schedule(graph, platform, plan).in_flight == std::vector<std::int64_t>{4, 4});
  plan.training.optimizer_copies = 1;
  CHECK(require_schedule(graph, platform, plan).in_flight == std::vector<std::int64_t>{8, 8});
  plan.training.optimizer_copies = 2;
  plan.stages[1].weight_versions = 2;
  CHECK(require_schedule(graph, platform, plan).in_flight == std::vector<std::int64_t>{4, 1});
  platform.devices[DeviceId(0)].memory = Bytes(4000 + 150);
  CHECK(require_schedule(graph, platform, plan).in_flight == std::vector<std::int64_t>{2, 1});
  CHECK(evaluate_plan(graph, platform, plan).out_of_memory());
}

}  // namespace
}  // namespace stagecraft
