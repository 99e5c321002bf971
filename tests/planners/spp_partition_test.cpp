#include "planners/spp/device_order.hpp"
#include "planners/spp/partition.hpp"
#include "sim/base/error.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/pipeline_times.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/planners/spp_oracle.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace stagecraft::spp_partition_test {

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

PartitionProblem problem_of(const LayerGraph& graph, const Platform& platform, std::int64_t microbatches) {
  const PairBandwidths pairs = pair_bandwidths(platform);
  const PlanRequest request{graph, platform, {"1f1b", {}}, microbatches, {}, Options({})};
  return partition_problem(request, {pairs, pairs}, device_order(pairs));
}

std::vector<Partition> partitions_on_b4(const LayerGraph& graph) {
  return best_partitions(problem_of(graph, platform_b4(), 4));
}

bool is_finite(double load) { return load < kNoLoad; }

/// A graph of layers with connections that skip some, on nodes of two kinds of devices.
struct RandomRequest {
  LayerGraph graph;
  Platform platform;
};

RandomRequest random_request(std::mt19937_64& random) {
  const auto number = [&](double least, double most) {
    return least + (most - least) * static_cast<double>(random() % 1000) / 999.0;
  };
  RandomRequest request;
  std::vector<double> times;
  for (std::size_t l = 0; l < 2 + random() % 9; ++l) times.push_back(number(0.0, 0.1));
  request.graph = chain(times);
  for (LayerId id : indices(request.graph.layers)) {
    request.graph.layers[id].parameters = Bytes(static_cast<std::int64_t>(random() % 100'000));
    for (std::size_t to = id.value() + 2; to < times.size(); ++to) {
      if (random() % 3 == 0) request.graph.edges.push_back({id, LayerId(to), Bytes(1 + random() % 1000)});
    }
  }
  PlatformSpec spec;
  spec.name = "nodes";
  spec.device_kinds.push_back({"A", Bytes(1'000'000'000), 1.0, Bytes(0), BytesPerSecond(1e7)});
  spec.device_kinds.push_back({"B", Bytes(1'000'000'000), number(0.5, 2.0), Bytes(0), std::nullopt});
  NodeForm form;
  const LinkSpec wide{BytesPerSecond(number(1e5, 1e6)), Seconds(1e-6)};
  const LinkSpec nic{BytesPerSecond(number(1e4, 1e5)), Seconds(1e-6)};
  for (std::size_t kind = 0; kind < 2; ++kind) {
    NodeKind node{.name = "n" + std::to_string(kind), .device_kind = DeviceKindId(kind)};
    node.device_count = static_cast<std::uint32_t>(1 + random() % 3);
    node.interconnect = Interconnect{SwitchedNode{}, wide};
    node.nic = NicSpec{nic, false};
    form.node_kinds.push_back(node);
    form.groups.push_back({NodeKindId(kind), static_cast<std::uint32_t>(1 + random() % 2)});
  }
  form.network = SwitchedNetwork{};
  spec.form = form;
  request.platform = build_platform(spec);
  return request;
}

/// The load of a partition as the analytic network runs it.
Seconds load_as_run(const PlanRequest& request, const std::vector<DeviceId>& order, const Partition& partition,
                    bool full_duplex) {
  const std::vector<LayerId> layers = canonical_order(request.graph);
  Plan plan;
  plan.schedule = request.schedule;
  plan.microbatches = request.microbatches;
  plan.training = request.training;
  for (const PartitionStage& each : partition.stages) {
    Stage stage;
    for (std::size_t l = each.begin; l < each.end; ++l) stage.layers.push_back(layers[l]);
    for (std::size_t u = each.first; u < each.first + each.replicas; ++u) stage.replicas.push_back(order[u]);
    stage.replication = Replication::Split;
    plan.stages.push_back(std::move(stage));
  }
  return pipeline_load(pipeline_times(request.graph, request.platform, {request.graph, request.platform, plan}),
                       request.microbatches, full_duplex);
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
  PartitionProblem problem = problem_of(chain_of({4, 4, 4, 4}, {2, 2, 2}, {1, 1, 1, 1}), platform_b4(), 4);
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

TEST_CASE("spp: no cut with any replica counts has a smaller load") {
  std::mt19937_64 random(6);
  for (int trial = 0; trial < 3000; ++trial) {
    CAPTURE(trial);
    const PartitionProblem problem = whole_problem(random, 6, 4);
    const std::vector<Partition> best = best_partitions(problem);
    const std::vector<double> expected = exhaustive_loads(problem);
    REQUIRE(best.size() == static_cast<std::size_t>(std::ranges::count_if(expected, is_finite)));
    for (const Partition& partition : best) {
      REQUIRE(covers(problem, partition.stages));
      REQUIRE(std::ranges::max(loads_of(problem, partition.stages)) == partition.load.value());
      REQUIRE(partition.load.value() == expected[partition.stages.size() - 1]);
    }
  }
}

TEST_CASE("spp: with buckets of gradients, too, no cut with any replica counts has a smaller load") {
  std::mt19937_64 random(16);
  int hidden = 0;
  for (int trial = 0; trial < random_cases(1000); ++trial) {
    CAPTURE(trial);
    PartitionProblem problem = whole_problem(random, 6, 4);
    const std::vector<Partition> at_once = best_partitions(problem);
    for (const Seconds compute : problem.compute) {
      problem.forward.push_back(compute * 0.25);
      problem.backward.push_back(compute * 0.75);
    }
    problem.bucket = Bytes(1 + static_cast<std::int64_t>(random() % 30));
    const std::vector<Partition> best = best_partitions(problem);
    const std::vector<double> expected = exhaustive_loads(problem);
    REQUIRE(best.size() == at_once.size());
    for (std::size_t i = 0; i < best.size(); ++i) {
      const std::vector<PartitionStage>& stages = best[i].stages;
      REQUIRE(std::ranges::max(loads_of(problem, stages)) == doctest::Approx(best[i].load.value()).epsilon(1e-12));
      REQUIRE(best[i].load.value() == doctest::Approx(expected[stages.size() - 1]).epsilon(1e-12));
      REQUIRE(best[i].load.value() <= at_once[i].load.value() * (1 + 1e-12));
      hidden += best[i].load.value() < at_once[i].load.value() * (1 - 1e-9) ? 1 : 0;
    }
  }
  CHECK(hidden > random_cases(100));
}

TEST_CASE("spp: of partitions that tie, the one with the smallest sum of loads") {
  std::mt19937_64 random(9);
  int differ = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    CAPTURE(trial);
    const PartitionProblem problem = whole_problem(random, 7, 4);
    PlainProgram plain(problem);
    for (const Partition& partition : best_partitions(problem)) {
      const Partition first = plain.best(partition.stages.size());
      REQUIRE(partition.load == first.load);
      if (partition != first) ++differ;
      const std::size_t used = first.stages.back().first + first.stages.back().replicas;
      REQUIRE(partition.stages == PlainSums(problem, partition.load.value()).best(partition.stages.size(), used));
      const std::vector<double> loads = loads_of(problem, partition.stages);
      REQUIRE(std::accumulate(loads.begin(), loads.end(), 0.0) == exhaustive_sum(problem, partition));
    }
  }
  CHECK(differ > 300);
}

TEST_CASE("spp: the load of a partition is what the analytic network makes of its plan") {
  std::mt19937_64 random(8);
  for (int trial = 0; trial < 200; ++trial) {
    CAPTURE(trial);
    RandomRequest drawn = random_request(random);
    Training training;
    if (trial % 4 > 1) training.gradient_bucket = Bytes(static_cast<std::int64_t>(random() % 300'000));
    if (trial % 8 > 3) drawn.graph.layers[LayerId(random() % drawn.graph.layers.size())].parameters = Bytes(0);
    const PlanRequest request{.graph = drawn.graph,
                              .platform = drawn.platform,
                              .schedule = {"1f1b", {}},
                              .microbatches = 1 + static_cast<std::int64_t>(random() % 9),
                              .training = training,
                              .options = Options({})};
    const PairBandwidths pairs = pair_bandwidths(drawn.platform);
    const std::vector<DeviceId> order = device_order(pairs);
    PartitionProblem problem = partition_problem(request, {pairs, pairs}, order);
    problem.full_duplex = trial % 2 == 0;
    for (const Partition& partition : best_partitions(problem)) {
      const Seconds load = load_as_run(request, order, partition, problem.full_duplex);
      REQUIRE(partition.load.value() == doctest::Approx(load.value()).epsilon(1e-12));
    }
  }
}

TEST_CASE("spp: equal layers tie wherever they stand, although their time is no binary fraction") {
  const PartitionProblem problem = problem_of(chain(std::vector<double>(12, 0.1)), flat_platform(4, 1e12), 7);
  for (std::size_t l = 1; l <= 12; ++l) CHECK(problem.compute[l] - problem.compute[l - 1] == problem.compute[1]);
  CHECK(problem.compute[12].value() == doctest::Approx(12 * 0.3).epsilon(1e-14));
}

TEST_CASE("spp: layers that take longer than can be counted are refused") {
  CHECK_THROWS_WITH_AS((void)problem_of(chain({1e6, 1e6}), flat_platform(2), 7), doctest::Contains("takes 6e+06 s"),
                       InputError);
}

TEST_CASE("spp: a table that would not fit is refused before anything is computed") {
  PartitionProblem problem{.compute = std::vector<Seconds>(2001),
                           .parameters = std::vector<Bytes>(2001),
                           .crossing = std::vector<Bytes>(2001),
                           .bandwidths = {PairBandwidths(128), PairBandwidths(128)},
                           .factors = std::vector<double>(128, 1.0),
                           .update_bandwidth = std::vector<BytesPerSecond>(128, BytesPerSecond(1))};
  CHECK_THROWS_WITH_AS((void)best_partitions(problem), doctest::Contains("2000 layers on 128 devices"), InputError);
  CHECK_THROWS_AS(require_partition_size(1, 4096), InputError);
  CHECK_THROWS_AS(require_partition_size(100'000, 16), InputError);
  CHECK_NOTHROW(require_partition_size(1000, 64));
  CHECK_NOTHROW(require_partition_size(64, 256));
  CHECK_NOTHROW(require_partition_size(1, 1));
}

}  // namespace stagecraft::spp_partition_test
