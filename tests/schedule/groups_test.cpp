#include "sim/analytic/evaluate_plan.hpp"
#include "sim/analytic/lower_bound.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/schedule/exchange_time.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

using testing::random_case;
using testing::RandomCase;

/// Groups in place of the devices of a random case. All pairs of devices have links of their own.
RandomCase expanded(const RandomCase& of_groups, const Degrees& degrees) {
  const std::int64_t size = degrees.devices();
  RandomCase whole = of_groups;
  PlatformSpec spec = of_groups.platform.spec;
  auto& form = std::get<ExplicitForm>(spec.form);
  form.devices.clear();
  for (const ExplicitDevice& group : std::get<ExplicitForm>(of_groups.platform.spec.form).devices) {
    for (std::int64_t i = 0; i < size; ++i) {
      form.devices.push_back(group);
      form.devices[DeviceId(form.devices.size() - 1)].name += "." + std::to_string(i);
    }
  }
  whole.platform = build_platform(std::move(spec));
  whole.graph.degrees = whole.plan.degrees = degrees;
  whole.graph.copies = copies_in(degrees);
  for (Stage& stage : whole.plan.stages) {
    for (Group& group : stage.replicas) {
      const std::uint32_t first = group.lead().value() * static_cast<std::uint32_t>(size);
      group.devices.clear();
      for (std::uint32_t i = 0; i < size; ++i) group.devices.emplace_back(first + i);
    }
  }
  return whole;
}

/// Exchanges of each layer, so large that they take as long as the layer computes.
void add_exchanges(LayerGraph& graph, std::uint32_t seed) {
  std::mt19937 random(seed);
  for (Layer& layer : graph.layers) {
    const Bytes bytes(5040 * static_cast<std::int64_t>(random() % 80'000));  // parts are whole bytes
    layer.forward_exchanges = {{Exchange::Kind::AllReduce, bytes, 1 + static_cast<std::int64_t>(random() % 2)}};
    layer.backward_exchanges = {{Exchange::Kind::AllGather, bytes, 2}, {Exchange::Kind::ReduceScatter, bytes}};
    if (random() % 3 == 0) layer.backward_exchanges.push_back({Exchange::Kind::AllGather, bytes, 1, true});
  }
}

/// Without latencies a part of a microbatch is exchanged in its part of the time.
void drop_latencies(Platform& platform) {
  PlatformSpec spec = platform.spec;
  std::get<ExplicitForm>(spec.form).default_link->latency = Seconds(0);
  platform = build_platform(std::move(spec));
}

bool divides_microbatches(const Plan& plan) {
  return std::ranges::any_of(plan.stages, [](const Stage& stage) { return stage.replication == Replication::Split; });
}

/// The graph in which the times of layers have the exchanges of a group.
LayerGraph with_times(LayerGraph graph, const RandomCase& whole) {
  ExchangeClock clock(whole.platform, whole.plan.stages.front().replicas.front(), whole.graph.degrees);
  for (Layer& layer : graph.layers) {
    layer.forward += clock.time(layer.forward_exchanges);
    layer.backward += clock.time(layer.backward_exchanges);
  }
  return graph;
}

std::optional<LowerBound> bound_of(const RandomCase& one) {
  return lower_bound(one.graph, one.platform, require_schedule(one.graph, one.platform, one.plan), {{}, false});
}

void check_alike(const Report& groups, const Report& whole, std::int64_t size) {
  CHECK(whole.figures().iteration_time.has_value() == groups.figures().iteration_time.has_value());
  if (const auto time = groups.figures().iteration_time) {
    CHECK(whole.figures().iteration_time->value() == doctest::Approx(time->value()).epsilon(1e-9));
  }
  if (const auto period = groups.figures().period) {
    CHECK(whole.figures().period->value() == doctest::Approx(period->value()).epsilon(1e-9));
  }
  REQUIRE(whole.devices.size() == groups.devices.size() * static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < whole.devices.size(); ++i) {
    const DeviceReport& group = groups.devices[i / static_cast<std::size_t>(size)];
    CHECK(whole.devices[i].memory.peak == group.memory.peak);
    CHECK(whole.devices[i].busy.value() == doctest::Approx(group.busy.value()).epsilon(1e-9));
    CHECK(whole.devices[i].in_flight_peak == group.in_flight_peak);
  }
}

TEST_CASE("groups: a run on groups is that of one device for each, with their exchanges in its times") {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    for (const std::int64_t size : {2, 3}) {
      CAPTURE(seed);
      CAPTURE(size);
      RandomCase groups = random_case(seed);
      if (divides_microbatches(groups.plan)) drop_latencies(groups.platform);
      const bool flushes = groups.plan.schedule.name != "pipedream";
      if (flushes) groups.plan.training.zero = testing::run_together(groups.plan) ? seed % 4 : seed % 3;
      add_exchanges(groups.graph, seed);
      const RandomCase whole = expanded(groups, {.tensor = size});
      groups.graph = with_times(groups.graph, whole);
      for (Layer& layer : groups.graph.layers) layer.forward_exchanges = layer.backward_exchanges = {};
      CHECK(check_plan(whole.graph, whole.platform, whole.plan).empty());
      const Report expected = evaluate_plan(groups.graph, groups.platform, groups.plan);
      check_alike(expected, evaluate_plan(whole.graph, whole.platform, whole.plan), size);
      const std::optional<LowerBound> bound = bound_of(groups);
      const std::optional<LowerBound> of_whole = bound_of(whole);
      REQUIRE(bound.has_value() == of_whole.has_value());
      if (bound) CHECK(of_whole->time <= bound->time * (1.0 + 1e-9));  // computing and exchanging are jobs of their own
    }
  }
}

/// Without parameters, since those of members that divide tokens or experts are in longer rings than those of devices
/// that stand for groups. All exchanges are among all members.
TEST_CASE("groups: so is one on groups that divide tokens or experts, but for their gradients") {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    RandomCase groups = random_case(seed);
    if (groups.plan.schedule.name == "pipedream") continue;
    if (divides_microbatches(groups.plan)) drop_latencies(groups.platform);
    add_exchanges(groups.graph, seed);
    for (Layer& layer : groups.graph.layers) layer.parameters = Bytes(0);
    groups.graph.tied.clear();
    for (const Degrees& degrees : {Degrees{.context = 3}, Degrees{.expert = 2}, Degrees{.tensor = 2, .expert = 4}}) {
      RandomCase one = groups;
      const auto among = degrees.context > 1 ? Exchange::Among::Context : Exchange::Among::Expert;
      for (Layer& layer : one.graph.layers) {
        for (Exchange& each : layer.forward_exchanges) each.among = among;
        for (Exchange& each : layer.backward_exchanges) each.among = among;
        layer.forward_exchanges.front().kind = Exchange::Kind::AllToAll;
        layer.backward_exchanges.front().kind = Exchange::Kind::Shift;
      }
      const RandomCase whole = expanded(one, degrees);
      one.graph = with_times(one.graph, whole);
      for (Layer& layer : one.graph.layers) layer.forward_exchanges = layer.backward_exchanges = {};
      CHECK(check_plan(whole.graph, whole.platform, whole.plan).empty());
      check_alike(evaluate_plan(one.graph, one.platform, one.plan),
                  evaluate_plan(whole.graph, whole.platform, whole.plan), degrees.devices());
    }
  }
}

}  // namespace
}  // namespace stagecraft
