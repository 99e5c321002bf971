// The share of their links that collectives reach at each level, and what each takes beside its flows.
#include "sim/schedule/all_reduce.hpp"
#include "sim/schedule/exchange_phases.hpp"
#include "sim/schedule/exchange_time.hpp"
#include "tests/model/topologies.hpp"
#include "tests/schedule/all_reduce_runs.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>

namespace stagecraft::collective_shares_test {

using all_reduce_test::devices_of;
using all_reduce_test::iteration;
using Algorithm = CollectiveSpec::Algorithm;
using Kind = Exchange::Kind;

namespace {

constexpr std::int64_t kGigabyte = 1'000'000'000;

/// Nodes behind a switch of 8 GB/s inside, of which collectives reach a half, and NICs of 1 GB/s for each device, of
/// which they reach a quarter. Each takes 3 s.
Platform cluster(std::uint32_t nodes, std::uint32_t devices, Algorithm algorithm = Algorithm::Ring) {
  const Interconnect inside{SwitchedNode{}, test::link_of(8e9, 0)};
  PlatformSpec spec = test::built(test::nodes_of(nodes, devices, inside, SwitchedNetwork{},
                                                 NicSpec{.link = test::link_of(1e9, 0), .per_device = true}))
                          .spec;
  spec.collectives = {.algorithm = algorithm, .efficiency = 0.5, .network_efficiency = 0.25, .latency = Seconds(3)};
  return build_platform(std::move(spec));
}

/// An exchange of 8 GB.
double exchanged(const Platform& platform, Kind kind) {
  return exchange_time(platform, {devices_of(platform)}, kind, Bytes(8 * kGigabyte)).value();
}

}  // namespace

TEST_CASE("collective shares: an all-reduce inside a node, and between nodes") {
  CHECK(iteration(cluster(1, 4), 8 * kGigabyte) == doctest::Approx(2 * 3.0 / 4 * 8 / (8 * 0.5) + 3).epsilon(1e-9));
  CHECK(iteration(cluster(4, 1), 8 * kGigabyte) == doctest::Approx(2 * 3.0 / 4 * 8 / (1 * 0.25) + 2 * 3).epsilon(1e-9));
  // Inside nodes 3/4 of the bytes twice, and between two nodes 2 (1/2) of a quarter.
  CHECK(iteration(cluster(2, 4, Algorithm::Hierarchical), 8 * kGigabyte) ==
        doctest::Approx(2 * 3.0 / 4 * 8 / (8 * 0.5) + 2.0 / 2 * 8 / 4 / (1 * 0.25) + 2 * 3).epsilon(1e-9));
}

TEST_CASE("collective shares: one-sided collectives take half of the latency") {
  const Platform inside = cluster(1, 4);
  const Platform across = cluster(4, 1);
  for (const Kind kind : {Kind::ReduceScatter, Kind::AllGather, Kind::AllToAll}) {
    CHECK(exchanged(inside, kind) == doctest::Approx(3.0 / 4 * 8 / (8 * 0.5) + 1.5).epsilon(1e-6));
    CHECK(exchanged(across, kind) == doctest::Approx(3.0 / 4 * 8 / (1 * 0.25) + 3).epsilon(1e-6));
  }
  CHECK(exchanged(inside, Kind::Shift) == doctest::Approx(8 / (8 * 0.5) + 1.5).epsilon(1e-6));
  CHECK(exchanged(inside, Kind::AllReduce) == doctest::Approx(2 * 3.0 / 4 * 8 / (8 * 0.5) + 3).epsilon(1e-6));
  const Platform levels = cluster(2, 4, Algorithm::Hierarchical);
  for (const Kind kind : {Kind::ReduceScatter, Kind::AllGather}) {
    CHECK(exchanged(levels, kind) == doctest::Approx(exchanged(levels, Kind::AllReduce) / 2).epsilon(1e-6));
  }
}

TEST_CASE("collective shares: what planners reckon with has the latency once for each all-reduce with bytes") {
  const Platform platform = cluster(2, 4);
  const MemberRings rings{devices_of(platform)};
  CHECK(all_reduce_time(platform, rings, Bytes(8 * kGigabyte)).value() ==
        doctest::Approx(iteration(platform, 8 * kGigabyte)).epsilon(1e-9));
  CHECK(all_reduce_time(platform, rings, Bytes(0)) == Seconds(0));
  CHECK(collective_latency(platform, rings, Kind::AllReduce) == Seconds(6));
  CHECK(collective_latency(platform, {{DeviceId(4), DeviceId(5)}}, Kind::AllReduce) == Seconds(3));
}

TEST_CASE("collective shares: each bucket of gradients is a collective of its own") {
  const Platform platform = cluster(1, 2);
  LayerGraph graph = testing::chain(4, 0, 0, 0, 0, 1000);
  graph.device_kind = "A";
  Plan plan = testing::straight(1, 2, "gpipe");
  plan.stages[0].layers = {LayerId(0), LayerId(1), LayerId(2), LayerId(3)};
  plan.stages[0].replicas = groups_of_one(devices_of(platform));
  for (const auto& [bucket, count] : {std::pair(0, 1), std::pair(1000, 4), std::pair(2000, 2)}) {
    CAPTURE(bucket);
    plan.training.gradient_bucket = Bytes(bucket);
    CHECK(evaluate_plan(graph, platform, plan).iterations.back().value() == doctest::Approx(3.0 * count).epsilon(1e-3));
  }
}

// Members on one node have the latency once on the analytic network, too.
TEST_CASE("collective shares: on the analytic network") {
  const BytesPerSecond slowest(1e9);
  const Platform inside = cluster(1, 4);
  const Platform across = cluster(4, 1);
  const auto time = [&](const Platform& platform, Kind kind) {
    return analytic_time(platform, devices_of(platform), kind, Bytes(4 * kGigabyte), Bytes(6 * kGigabyte), slowest)
        .value();
  };
  CHECK(time(inside, Kind::AllReduce) == doctest::Approx(6 / 0.5 + 3).epsilon(1e-9));
  CHECK(time(across, Kind::AllReduce) == doctest::Approx(6 / 0.25 + 6).epsilon(1e-9));
  CHECK(time(across, Kind::AllGather) == doctest::Approx(3 / 0.25 + 3).epsilon(1e-9));
}

}  // namespace stagecraft::collective_shares_test
