#include "planners/spp/device_order.hpp"
#include "planners/spp/partition.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

using namespace stagecraft;
using namespace stagecraft::spp;
using namespace stagecraft::testing;

namespace {

/// The specification's four devices: 10 B/s between 0 and 2 and between 1 and 3, else 1.
Platform platform_b4() {
  PlatformSpec spec;
  spec.name = "b4";
  spec.device_kinds.push_back({"A", Bytes(1'000'000), 1.0, Bytes(0), std::nullopt});
  ExplicitForm form;
  for (std::size_t i = 0; i < 4; ++i) form.devices.push_back({"gpu" + std::to_string(i), DeviceKindId(0), {}});
  const LinkSpec wide{BytesPerSecond(10), Seconds(0)};
  form.links.push_back({"", std::pair(DeviceId(0), DeviceId(2)), wide});
  form.links.push_back({"", std::pair(DeviceId(1), DeviceId(3)), wide});
  form.default_link = LinkSpec{BytesPerSecond(1), Seconds(0)};
  spec.form = form;
  return build_platform(spec);
}

/// A chain of layers that take pf and twice that, hand on d and have alpha bytes of parameters.
LayerGraph chain_of(const std::vector<double>& pf, const std::vector<std::int64_t>& d,
                    const std::vector<std::int64_t>& alpha) {
  LayerGraph graph = chain(pf);
  for (std::size_t i = 0; i < pf.size(); ++i) graph.layers[LayerId(i)].parameters = Bytes(alpha[i]);
  for (std::size_t i = 0; i < d.size(); ++i) graph.edges[i].bytes = Bytes(d[i]);
  return graph;
}

std::vector<Partition> partitions_on_b4(const LayerGraph& graph) {
  const Platform platform = platform_b4();
  const PairBandwidths pairs = pair_bandwidths(platform);
  const PlanRequest request{.graph = graph,
                            .platform = platform,
                            .schedule = {"1f1b", {}},
                            .microbatches = 4,
                            .training = {},
                            .options = Options({})};
  return best_partitions(partition_problem(request, pairs, device_order(pairs)));
}

}  // namespace

TEST_CASE("spp: partitions the specification's example I1 on every count of stages") {
  const std::vector<Partition> best = partitions_on_b4(chain_of({2, 2, 3, 1}, {4, 2, 2}, {10, 10, 20, 40}));
  REQUIRE(best.size() == 4);
  CHECK(best[0] == Partition{Seconds(144), {{0, 4, 0, 4}}});
  CHECK(best[1] == Partition{Seconds(30), {{0, 2, 0, 2}, {2, 4, 2, 2}}});
  CHECK(best[2] == Partition{Seconds(30), {{0, 1, 0, 1}, {1, 2, 1, 1}, {2, 4, 2, 2}}});
  CHECK(best[3] == Partition{Seconds(36), {{0, 1, 0, 1}, {1, 2, 1, 1}, {2, 3, 2, 1}, {3, 4, 3, 1}}});
}

TEST_CASE("spp: partitions the specification's example I3 on every count of stages") {
  const std::vector<Partition> best = partitions_on_b4(chain_of({4, 4, 4, 4}, {2, 2, 2}, {1, 1, 1, 1}));
  REQUIRE(best.size() == 4);
  CHECK(best[0] == Partition{Seconds(54), {{0, 4, 0, 4}}});
  CHECK(best[1] == Partition{Seconds(48.2), {{0, 2, 0, 2}, {2, 4, 2, 2}}});
  CHECK(best[2] == Partition{Seconds(48.2), {{0, 2, 0, 2}, {2, 3, 2, 1}, {3, 4, 3, 1}}});
  CHECK(best[3] == Partition{Seconds(48), {{0, 1, 0, 1}, {1, 2, 1, 1}, {2, 3, 2, 1}, {3, 4, 3, 1}}});
}

TEST_CASE("spp: a stage has no more replicas than it may") {
  const LayerGraph graph = chain_of({4, 4, 4, 4}, {2, 2, 2}, {1, 1, 1, 1});
  const Platform platform = platform_b4();
  const PairBandwidths pairs = pair_bandwidths(platform);
  const PlanRequest request{.graph = graph,
                            .platform = platform,
                            .schedule = {"1f1b", {}},
                            .microbatches = 4,
                            .training = {},
                            .options = Options({})};
  PartitionProblem problem = partition_problem(request, pairs, device_order(pairs));
  problem.most_replicas = 2;
  const std::vector<Partition> best = best_partitions(problem);
  REQUIRE(best.size() == 3);  // no single stage on four devices
  CHECK(best[0] == Partition{Seconds(48.2), {{0, 2, 0, 2}, {2, 4, 2, 2}}});
  CHECK(best[1].load == Seconds(48.2));
  problem.most_replicas = 1;
  CHECK(best_partitions(problem).size() == 1);
  problem.allow_fewer = true;
  CHECK(best_partitions(problem).size() == 4);
}
