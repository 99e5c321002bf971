#pragma once

#include "planners/registry.hpp"
#include "tests/model/topologies.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <variant>
#include <vector>

/// Clusters and chains for the planner `dapple`.
namespace stagecraft::dapple_test {

using namespace stagecraft::testing;

inline const PlannerInfo& planner() { return as_in_paper("dapple"); }

inline Plan plan_of(const PlanResult& result) {
  REQUIRE(std::holds_alternative<Planned>(result));
  return std::get<Planned>(result).plan;
}

inline Platform cluster(std::uint32_t nodes, std::uint32_t devices, double inside, double nic,
                        Bytes memory = Bytes(1'000'000)) {
  PlatformSpec spec;
  spec.name = "cluster";
  spec.device_kinds.push_back({"A", memory, 1.0, Bytes(0), std::nullopt});
  spec.form = test::nodes_of(nodes, devices, Interconnect{SwitchedNode{}, test::link_of(inside)}, SwitchedNetwork{},
                             NicSpec{test::link_of(nic), false});
  return build_platform(spec);
}

inline LayerGraph random_chain(std::mt19937& random, std::size_t layers) {
  std::vector<double> times(layers);
  for (double& time : times) time = static_cast<double>(1 + random() % 9);
  LayerGraph graph = chain(times);
  graph.microbatch_size = 8;
  for (Layer& layer : graph.layers) {
    layer.parameters = Bytes(static_cast<std::int64_t>(random() % 2000));
    layer.output = Bytes(static_cast<std::int64_t>(random() % 300));
  }
  for (LayerEdge& edge : graph.edges) edge.bytes = graph.layers[edge.from].output;
  return graph;
}

inline PlanRequest request_of(const LayerGraph& graph, const Platform& platform, std::int64_t microbatches,
                              const char* pair_bandwidth = "nominal") {
  return {graph, platform, {"", {}}, microbatches, {}, parse_options(planner(), {{"pair_bandwidth", pair_bandwidth}})};
}

}  // namespace stagecraft::dapple_test
