#include "experiments/run/traffic.hpp"

#include "sim/model/check_plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <tuple>

namespace stagecraft {
namespace {

/// Pairs joined by links of their own, and a host with a link for each device.
Platform platform_with_hosts(std::size_t count) {
  PlatformSpec spec = testing::flat_platform(count).spec;
  for (ExplicitDevice& device : std::get<ExplicitForm>(spec.form).devices) {
    device.host = HostSpec{.memory = Bytes(1'000'000), .link = LinkSpec{BytesPerSecond(50.0), Seconds(0)}};
  }
  return build_platform(spec);
}

/// A random plan over consecutive stages of a chain: replicas of both kinds, and a swapped layer here and there.
Plan random_plan(const LayerGraph& graph, std::size_t devices, unsigned seed) {
  std::mt19937 random(seed);
  Plan plan;
  plan.schedule = {seed % 2 == 0 ? "1f1b" : "gpipe", {}};
  plan.microbatch_size = graph.microbatch_size;
  plan.microbatches = 5 + random() % 8;
  std::size_t device = 0;
  std::size_t layer = 0;
  while (layer < graph.layers.size() && device < devices) {
    Stage stage;
    const std::size_t replicas = 1 + random() % std::min<std::size_t>(3, devices - device);
    for (std::size_t r = 0; r < replicas; ++r) stage.replicas.emplace_back(DeviceId(device++));
    const bool last = device == devices;
    for (std::size_t end = last ? graph.layers.size() : layer + 1; layer < end; ++layer)
      stage.layers.emplace_back(layer);
    if (random() % 3 == 0) stage.memory = {Swap{{stage.layers.front()}}};
    if (random() % 2 == 0) stage.replication = Replication::Split;
    plan.stages.push_back(stage);
  }
  for (; layer < graph.layers.size(); ++layer) plan.stages.back().layers.emplace_back(layer);
  return plan;
}

}  // namespace

TEST_CASE("traffic: what it says crosses each link is what the evaluated run moved, on 60 random plans") {
  std::map<OpKind, int> seen;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    LayerGraph graph = testing::chain({1, 2, 1, 3, 1});
    graph.microbatch_size = 6;
    graph.edges.push_back({LayerId(0), LayerId(4), Bytes(70)});
    const Platform platform = platform_with_hosts(2 + seed % 5);
    const Plan plan = random_plan(graph, platform.devices.size(), seed);
    REQUIRE(check_plan(graph, platform, plan).empty());
    const auto [report, traffic] = evaluate_traffic(graph, platform, require_schedule(graph, platform, plan));
    const std::map<LinkId, Loads> loads = loads_by_link(platform, traffic);
    CHECK(loads.size() == report.links.size());
    for (const LinkReport& link : report.links) {
      CAPTURE(platform.links[link.link].name);
      double sum = 0.0;
      for (const auto& [cause, bytes] : loads.at(link.link)) sum += bytes;
      CHECK(sum == doctest::Approx(static_cast<double>(link.bytes().value())).epsilon(1e-6));
    }
    for (const Flow& flow : traffic.flows) ++seen[flow.cause.kind];
  }
  for (const OpKind kind : {OpKind::Activation, OpKind::Gradient, OpKind::AllReduce, OpKind::SwapOut, OpKind::SwapIn}) {
    CHECK(seen[kind] > 10);
  }
}

TEST_CASE("traffic: two stages on one device that one stage feeds are told apart") {
  // Stages 0 and 2 on the first device, 1 and 3 on the second; a skip of 70 bytes from the first stage to the last. All
  // neighbours exchange 10 bytes for each of 4 microbatches, and gradients are as large as activations.
  LayerGraph graph = testing::chain({1, 1, 1, 1});
  graph.edges.push_back({LayerId(0), LayerId(3), Bytes(70)});
  Plan plan;
  plan.schedule = {"gpipe", {}};
  plan.microbatches = 4;
  for (const std::uint32_t stage : {0U, 1U, 2U, 3U}) {
    plan.stages.emplace_back();
    plan.stages.back().layers = {LayerId(stage)};
    plan.stages.back().replicas = {DeviceId(stage % 2)};
  }
  const Platform platform = testing::flat_platform(2);
  std::map<TrafficCause, double> sums;
  for (const auto& [cause, bytes] :
       loads_by_cause(evaluate_traffic(graph, platform, require_schedule(graph, platform, plan)).traffic))
    sums[cause] = bytes;
  std::map<TrafficCause, double> expected;
  for (const auto& [from, to, bytes] : {std::tuple(0, 1, 40.0), {1, 2, 40.0}, {2, 3, 40.0}, {0, 3, 280.0}}) {
    expected[{OpKind::Activation, StageId(from), StageId(to)}] = bytes;
    expected[{OpKind::Gradient, StageId(to), StageId(from)}] = bytes;
  }
  CHECK(sums == expected);
}

TEST_CASE("traffic: of an asynchronous schedule it is that of a microbatch on average") {
  // Two replicas feed one device: 10 bytes each way for every microbatch, half of them from either. The ring of two
  // moves 2 (2 - 1) / 2 · 100 bytes from each to the other once in two microbatches.
  const LayerGraph graph = testing::chain({1, 1});
  const Platform platform = testing::flat_platform(3);
  Plan plan;
  plan.schedule = {"pipedream", {}};
  plan.stages.resize(2);
  plan.stages[0].layers = {LayerId(0)};
  plan.stages[0].replicas = {DeviceId(0), DeviceId(1)};
  plan.stages[1].layers = {LayerId(1)};
  plan.stages[1].replicas = {DeviceId(2)};
  for (const std::int64_t microbatches : {100, 101}) {  // the last one of 101 ends no round
    plan.microbatches = microbatches;
    const Traffic traffic = evaluate_traffic(graph, platform, require_schedule(graph, platform, plan)).traffic;
    CHECK(traffic.parts >= 100);  // the run goes on until its period has converged
    CHECK(traffic.parts % 2 == 0);
    const auto parts = static_cast<double>(traffic.parts);
    const Loads loads = loads_by_cause(traffic);
    REQUIRE(loads.size() == 3);
    CHECK(loads[0] == std::pair(TrafficCause{OpKind::AllReduce, StageId(0), StageId(0)}, 100.0 * parts));
    CHECK(loads[1] == std::pair(TrafficCause{OpKind::Activation, StageId(0), StageId(1)}, 10.0 * parts));
    CHECK(loads[2] == std::pair(TrafficCause{OpKind::Gradient, StageId(1), StageId(0)}, 10.0 * parts));
  }
}

}  // namespace stagecraft
