// Collectives with a share of their links at each level and a latency, in both engines.
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/replay/replay_plan.hpp"
#include "tests/model/topologies.hpp"
#include "tests/schedule/all_reduce_runs.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>

namespace stagecraft::collective_latency_test {

using Algorithm = CollectiveSpec::Algorithm;

namespace {

/// Two nodes of four devices, with overheads.
Platform two_nodes(Algorithm algorithm) {
  const Interconnect inside{SwitchedNode{}, test::link_of(8e9, 1e-3)};
  const NicSpec nic{.link = test::link_of(1e9, 1e-2), .per_device = true};
  PlatformSpec spec = test::built(test::nodes_of(2, 4, inside, SwitchedNetwork{}, nic)).spec;
  spec.collectives = {.algorithm = algorithm, .efficiency = 0.5, .network_efficiency = 0.25, .latency = Seconds(0.3)};
  spec.device_kinds[DeviceKindId(0)].pass_overhead = Seconds(0.25);
  spec.device_kinds[DeviceKindId(0)].update_overhead = Seconds(2);
  return build_platform(std::move(spec));
}

}  // namespace

TEST_CASE("replay: collectives with a latency take as long as without contention, with every zero and with buckets") {
  LayerGraph graph = testing::chain(3, 1, 2, 0, 0, 400'000'000);
  graph.device_kind = "A";
  for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Hierarchical}) {
    const Platform platform = two_nodes(algorithm);
    for (const std::int64_t zero : {0, 1, 2, 3}) {
      for (const std::int64_t bucket : {std::int64_t{0}, std::int64_t{500'000'000}}) {
        if (zero >= 2 && bucket == 0) continue;
        CAPTURE(zero);
        CAPTURE(bucket);
        Plan plan = testing::straight(1, 16, "1f1b");
        plan.stages[0].layers = {LayerId(0), LayerId(1), LayerId(2)};
        plan.stages[0].replicas = groups_of_one(all_reduce_test::devices_of(platform));
        plan.training.gradient_bucket = Bytes(bucket);
        plan.training.zero = zero;
        const double replayed = replay_plan(graph, platform, plan).report.iterations.back().value();
        const double evaluated = evaluate_plan(graph, platform, plan).iterations.back().value();
        CHECK(replayed == doctest::Approx(evaluated).epsilon(1e-6));
      }
    }
  }
}

}  // namespace stagecraft::collective_latency_test
