#include "experiments/report/traffic.hpp"

#include "sim/analytic/evaluate_plan.hpp"
#include "sim/model/check_plan.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>

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
    for (std::size_t r = 0; r < replicas; ++r) stage.devices.emplace_back(device++);
    const bool last = device == devices;
    for (std::size_t end = last ? graph.layers.size() : layer + 1; layer < end; ++layer)
      stage.layers.emplace_back(layer);
    if (random() % 3 == 0) stage.swap = {stage.layers.front()};
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
    const std::vector<Flow> flows = traffic(graph, platform, plan);
    const std::map<LinkId, Loads> loads = loads_by_link(platform, flows);
    const Report report = evaluate_plan(graph, platform, plan);
    CHECK(loads.size() == report.links.size());
    for (const LinkReport& link : report.links) {
      CAPTURE(platform.links[link.link].name);
      double sum = 0.0;
      for (const auto& [cause, bytes] : loads.at(link.link)) sum += bytes;
      CHECK(sum == doctest::Approx(static_cast<double>(link.bytes.value())).epsilon(1e-6));
    }
    for (const Flow& flow : flows) ++seen[flow.cause.kind];
  }
  for (const OpKind kind : {OpKind::Activation, OpKind::Gradient, OpKind::AllReduce, OpKind::SwapOut, OpKind::SwapIn}) {
    CHECK(seen[kind] > 10);
  }
}

TEST_CASE("traffic: of an asynchronous schedule it is that of a microbatch on average") {
  // Two replicas feed one device: 10 bytes each way for every microbatch, half of them from either. The ring of two
  // moves 2 (2 - 1) / 2 · 100 bytes from each to the other once in two microbatches.
  const LayerGraph graph = testing::chain({1, 1});
  const Platform platform = testing::flat_platform(3);
  Plan plan;
  plan.schedule = {"pipedream", {}};
  plan.microbatches = 100;
  plan.stages.resize(2);
  plan.stages[0].layers = {LayerId(0)};
  plan.stages[0].devices = {DeviceId(0), DeviceId(1)};
  plan.stages[1].layers = {LayerId(1)};
  plan.stages[1].devices = {DeviceId(2)};
  const Loads loads = loads_by_cause(traffic(graph, platform, plan));
  REQUIRE(loads.size() == 3);
  CHECK(to_string(loads[0].first) == "all-reduce of stage 0");
  CHECK(loads[0].second == doctest::Approx(100.0));
  CHECK(to_string(loads[1].first) == "activations 0 -> 1");
  CHECK(loads[1].second == doctest::Approx(10.0));
  CHECK(to_string(loads[2].first) == "gradients 1 -> 0");
}

}  // namespace stagecraft
