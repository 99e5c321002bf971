#include "planners/shared/costs/all_reduces.hpp"

#include "planners/dapple/placement.hpp"
#include "planners/dapple/problem.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/spp/partition.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/all_reduce.hpp"
#include "tests/model/topologies.hpp"
#include "tests/planners/dapple_cases.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace stagecraft::all_reduces_test {

using namespace stagecraft::testing;

namespace {

using Random = std::mt19937;

/// Two to four nodes with a NIC for the node or for each device, and a switch, a mesh or a cube mesh inside.
Platform random_nodes(Random& random) {
  const auto below = [&](std::uint32_t most) { return static_cast<std::uint32_t>(random() % most); };
  const std::uint32_t shape = below(3);
  Interconnect inside{SwitchedNode{}, test::link_of(100.0 + below(900))};
  if (shape == 1) inside.shape = FullNode{};
  if (shape == 2) inside.shape = CubeMeshNode{{{0, 3}}};
  const NicSpec nic{test::link_of(5.0 + below(100), 0.0, below(4) == 0 ? Duplex::Half : Duplex::Full), below(2) == 0};
  return test::built(test::nodes_of(2 + below(3), shape == 2 ? 8 : 2 + below(5), inside, SwitchedNetwork{}, nic));
}

std::vector<DeviceId> ascending(const Platform& platform, Random& random, std::size_t least) {
  std::vector<DeviceId> devices;
  for (DeviceId device : indices(platform.devices)) devices.push_back(device);
  std::ranges::shuffle(devices, random);
  devices.resize(least + random() % (devices.size() + 1 - least));
  std::ranges::sort(devices);
  return devices;
}

LayerGraph layer_of(std::int64_t parameters) {
  LayerGraph graph = chain({0});
  graph.microbatch_size = 64;
  graph.layers[LayerId(0)].parameters = Bytes(parameters);
  return graph;
}

Stage split_stage(std::vector<LayerId> layers, const std::vector<DeviceId>& devices) {
  Stage stage;
  stage.layers = std::move(layers);
  stage.replicas = groups_of_one(devices);
  stage.replication = Replication::Split;
  return stage;
}

double evaluated(const PlanRequest& request, std::vector<Stage> stages) {
  Plan plan = empty_plan(dapple_test::planner(), request);
  plan.schedule.name = "1f1b";
  plan.stages = std::move(stages);
  return evaluate_plan(request.graph, request.platform, plan).iterations.back().value();
}

}  // namespace

TEST_CASE("all-reduces: dapple and spp reckon with the time of the evaluated one, on 200 random clusters of nodes") {
  Random random(3);
  int faster = 0;
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const Platform platform = random_nodes(random);
    const std::vector<DeviceId> devices = ascending(platform, random, 2);
    const LayerGraph graph = layer_of(1'000'000'000 + static_cast<std::int64_t>(random() % 1'000'000));
    const double bytes = static_cast<double>(graph.layers[LayerId(0)].parameters.value());
    const PlanRequest request = dapple_test::request_of(graph, platform, 1, "shared");
    const double time = evaluated(request, {split_stage({LayerId(0)}, devices)});

    const auto synchronise = [&](const char* pair_bandwidth) {
      const PlanRequest as = dapple_test::request_of(graph, platform, 1, pair_bandwidth);
      return blocks_of(dapple::problem_of(as), {{0, 1, devices}}).front().synchronise;
    };
    CHECK(synchronise("shared") == doctest::Approx(time).epsilon(1e-6));
    if (synchronise("nominal") > 1.2 * time) ++faster;

    const spp::StageAllReduces stages = spp::stage_all_reduces(AllReduces(platform), devices, 64);
    const std::size_t all = stages.of_range[devices.size()];
    CHECK(stages.distinct[all](bytes) == doctest::Approx(time).epsilon(1e-6));
  }
  CHECK(faster > 60);
}

TEST_CASE("all-reduces: what is known of like nodes holds for all of them, in every network") {
  test::RandomClusters clusters(41);
  Random random(8);
  constexpr Bytes kBytes{1'000'000'000'000};
  std::size_t asked = 0;
  std::size_t computed = 0;
  for (int round = 0; round < 150; ++round) {
    CAPTURE(round);
    const Platform platform = test::built(clusters.next());
    if (platform.devices.size() < 2) continue;
    AllReduces all_reduces(platform);
    for (int set = 0; set < 30; ++set) {
      std::vector<DeviceId> members = ascending(platform, random, 2);
      members.resize(std::min(members.size(), 2 + random() % 3));
      if (set % 3 == 0) std::ranges::shuffle(members, random);
      const double time = all_reduce_time(platform, {members}, kBytes).value();
      CHECK(all_reduces.among(members)(static_cast<double>(kBytes.value())) == doctest::Approx(time).epsilon(1e-6));
      ++asked;
    }
    computed += all_reduces.size();
  }
  CHECK(computed < asked);
}

TEST_CASE("all-reduces: with a table of bandwidths they take its time, and never less for more bytes") {
  PlatformSpec spec = dapple_test::cluster(2, 2, 1000, 100).spec;
  // 2 (n - 1) / n = 1.5: at 1,000 bytes 1.5 s, at 4,000 a fifth of that, at 8,000 again 1.5 s.
  spec.collectives.table = {
      {Bytes(1000), BytesPerSecond(1000)}, {Bytes(4000), BytesPerSecond(20000)}, {Bytes(8000), BytesPerSecond(8000)}};
  const Platform platform = build_platform(spec);
  const std::vector<DeviceId> members = {DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3)};
  const AllReduceTime time(platform, MemberRings{members});
  CHECK(time(0) == 0.0);
  CHECK(time(500) == doctest::Approx(0.75));
  CHECK(time(4000) == doctest::Approx(1.5));
  CHECK(time(16000) == doctest::Approx(3.0));
  CHECK(time(2000, 4) == doctest::Approx(4 * 0.75));
  double last = 0.0;
  for (int bytes = 0; bytes < 20000; bytes += 50) {
    CHECK(time(bytes) >= last);
    last = time(bytes);
  }
}

TEST_CASE("dapple: on two nodes with one NIC each it takes data parallelism where it is best, by trying") {
  Random random(12);
  int best_alone = 0;
  int missed_by_nominal = 0;
  for (int round = 0; round < 150; ++round) {
    CAPTURE(round);
    LayerGraph graph = dapple_test::random_chain(random, 2);
    for (Layer& layer : graph.layers) layer.output = Bytes(100 + static_cast<std::int64_t>(random() % 900));
    graph.edges.front().bytes = graph.layers[LayerId(0)].output;
    const Platform platform = dapple_test::cluster(2, 4, 1000, 20 + static_cast<double>(random() % 80));
    const PlanRequest request = dapple_test::request_of(graph, platform, 4, "shared");
    const std::vector<DeviceId> all = all_devices(platform);
    const double alone = evaluated(request, {split_stage({LayerId(0), LayerId(1)}, all)});
    double pipeline = std::numeric_limits<double>::infinity();
    for (const dapple::Policy policy : dapple::kPolicies) {
      for (std::size_t first = 1; first < all.size(); ++first) {
        const auto before = place(policy, nodes_of(platform), dapple::Used(all.size(), false), first);
        std::vector<DeviceId> behind;
        std::ranges::set_difference(all, before, std::back_inserter(behind));
        pipeline = std::min(pipeline,
                            evaluated(request, {split_stage({LayerId(0)}, before), split_stage({LayerId(1)}, behind)}));
      }
    }
    // The latency model leaves out waiting away from the pivot.
    if (alone * 1.05 > pipeline) continue;
    ++best_alone;
    CHECK(dapple_test::plan_of(dapple_test::planner().plan(request)).stages.size() == 1);
    const PlanRequest nominal = dapple_test::request_of(graph, platform, 4, "nominal");
    if (dapple_test::plan_of(dapple_test::planner().plan(nominal)).stages.size() > 1) ++missed_by_nominal;
  }
  CHECK(best_alone > 10);
  CHECK(missed_by_nominal > 0);
}

}  // namespace stagecraft::all_reduces_test
