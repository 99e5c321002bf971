// What planners claim for stages that swap over a link to host memory that several devices share.
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/savings/memory_policy.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "tests/model/topologies.hpp"
#include "tests/planners/saving_fixtures.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft::shared_host_links_test {

using namespace stagecraft::testing;

namespace {

constexpr std::int64_t kMegabyte = 1'000'000;

/// A node of four devices, each pair with a link of its own; `sharers` have a link to host memory of 2 GB/s together.
Platform node_of_four(Bytes memory, std::uint32_t sharers) {
  NodeForm form = test::nodes_of(1, 4, Interconnect{FullNode{}, test::link_of(4e9)});
  form.node_kinds[NodeKindId(0)].host = HostSpec{Bytes(std::int64_t{1} << 40), test::link_of(2e9), sharers};
  PlatformSpec spec = test::built(std::move(form)).spec;
  spec.device_kinds[DeviceKindId(0)].memory = memory;
  return build_platform(std::move(spec));
}

struct Figure {
  double forward;   // milliseconds
  double backward;  // milliseconds
  std::int64_t stash;
  bool is_kept;  // whether its checkpoint is all of the stash
};

LayerGraph chain_of(const std::vector<Figure>& figures) {
  LayerGraph graph = chain(std::vector<double>(figures.size(), 1.0));
  for (std::size_t i = 0; i < figures.size(); ++i) {
    Layer& layer = graph.layers[LayerId(i)];
    layer.forward = Seconds(figures[i].forward * 1e-3);
    layer.backward = Seconds(figures[i].backward * 1e-3);
    layer.stash = Bytes(figures[i].stash * kMegabyte);
    layer.checkpoint = figures[i].is_kept ? layer.stash : Bytes(0);
    layer.parameters = layer.output = Bytes(0);
  }
  for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(0);
  return graph;
}

double evaluated_period(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  return evaluate_plan(graph, platform, plan).period.value().value();
}

}  // namespace

TEST_CASE("shared host links: a stage that swaps alone has all of the link, in the claim and in the search") {
  // Stages 0 | 1 | 2 | 3, 4 take 2, 12, 15 and 22 ms. Stage 0 has room for three of four stashes of 20 MB, which take
  // 10 ms each way over the link of 2 GB/s, and 40 ms over a quarter of it.
  LayerGraph graph =
      chain_of({{1, 1, 20, true}, {5, 7, 10, false}, {2, 13, 17, true}, {3, 12, 5, false}, {2, 5, 11, true}});
  graph.layers[LayerId(0)].workspace = Bytes(kMegabyte);
  graph.layers[LayerId(3)].workspace = Bytes(2 * kMegabyte);
  graph.layers[LayerId(2)].parameters = Bytes(kMegabyte);
  const Platform platform = node_of_four(Bytes(61 * kMegabyte), 4);
  for (const std::string name : {"dawnpiper", "vpipe"}) {
    CAPTURE(name);
    const PlannerInfo& planner = find_planner(name);
    GivenOptions options = {{"stages", "4"}, {"replicas", "1"}};
    if (name == "vpipe") options.emplace_back("granularity", "layers");
    const PlanResult result =
        plan_within_memory(planner, request_for(planner, graph, platform, "pipedream", 22, options));
    REQUIRE(std::holds_alternative<Planned>(result));
    const Plan& plan = std::get<Planned>(result).plan;
    CHECK(plan.predicted.period.value().value() == doctest::Approx(0.022).epsilon(1e-9));
    CHECK(evaluated_period(graph, platform, plan) == doctest::Approx(0.022).epsilon(1e-9));
  }
}

TEST_CASE("shared host links: no plan that swaps runs much faster than its claim") {
  std::mt19937 random(5);
  const auto upto = [&](unsigned most) { return static_cast<std::int64_t>(random() % (most + 1)); };
  std::size_t some_swap = 0;
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    std::vector<Figure> figures;
    const std::size_t layers = 5 + random() % 5;
    for (std::size_t i = 0; i < layers; ++i) {
      figures.push_back(
          {static_cast<double>(1 + upto(5)), static_cast<double>(1 + upto(12)), 2 + upto(18), random() % 2 == 0});
    }
    const LayerGraph graph = chain_of(figures);
    const Platform platform = node_of_four(Bytes((40 + upto(50)) * kMegabyte), random() % 2 == 0 ? 2 : 4);
    for (const std::string name : {"dawnpiper", "vpipe", "pipedream"}) {
      CAPTURE(name);
      const PlannerInfo& planner = find_planner(name);
      const GivenOptions options = name == "pipedream" ? GivenOptions{} : GivenOptions{{"replicas", "1"}};
      const PlanResult result =
          plan_within_memory(planner, request_for(planner, graph, platform, "pipedream", 64, options));
      const auto* planned = std::get_if<Planned>(&result);
      if (planned == nullptr || count_swaps(planned->plan) == 0) continue;
      std::size_t swapping = 0;
      for (const Stage& stage : planned->plan.stages) swapping += actions_of<Swap>(stage).empty() ? 0 : 1;
      some_swap += swapping < planned->plan.stages.size() ? 1 : 0;
      const double claim = claimed_time(planned->plan).value();
      const double run = evaluated_period(graph, platform, planned->plan);
      CHECK(claim <= 1.05 * run);
    }
  }
  CHECK(some_swap > 5);
}

}  // namespace stagecraft::shared_host_links_test
