// What planners charge for boundaries that pass through host memory.
#include "planners/registry.hpp"
#include "planners/shared/costs/chain.hpp"
#include "planners/shared/costs/pair_bandwidths.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "tests/model/topologies.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace stagecraft::host_transport_test {

using namespace stagecraft::testing;

namespace {

/// Devices with a host link of 5 B/s, and 10 B/s between any two of them: 10 bytes of the chain take 2 + 1 + 2 s.
Platform over_hosts(std::size_t devices, Transport transport = Transport::Host) {
  PlatformSpec spec = flat_platform(devices, 10.0).spec;
  spec.transport = transport;
  for (ExplicitDevice& device : std::get<ExplicitForm>(spec.form).devices) {
    device.host = HostSpec{Bytes(1'000'000), test::link_of(5), 1};
  }
  return build_platform(std::move(spec));
}

TEST_CASE("host transport: a chain's transfers take the time of all legs") {
  const LayerGraph graph = chain({1, 1, 1});
  const Platform platform = over_hosts(3);
  const PlanRequest request{graph, platform, {"1f1b-star", {}}, 8, {}, Options({})};
  CHECK(to_seconds(Chain(request, 2).transfer(1)).value() == doctest::Approx(5).epsilon(1e-9));
  const Platform direct = over_hosts(3, Transport::Direct);
  const PlanRequest direct_request{graph, direct, {"1f1b-star", {}}, 8, {}, Options({})};
  CHECK(to_seconds(Chain(direct_request, 2).transfer(1)).value() == doctest::Approx(1).epsilon(1e-9));
}

// Two nodes of two devices under a switch: 16 B/s to each device, 8 B/s to the socket, a card of 4 B/s. While all
// devices of one node send to all of the other, two pairs cross a device's link and four the uplink and the card: 8, 2
// and 1 B/s. Straight, a pair gets 1 B/s. Leg by leg, a byte takes 1/2 + 1/1 + 1/2 s.
TEST_CASE("host transport: channels that share cards share the trees to host memory, too") {
  NodeForm form = test::nodes_of(2, 2, Interconnect{PcieNode{2, test::link_of(8), 0, {}}, test::link_of(16)}, {},
                                 NicSpec{test::link_of(4), false});
  form.node_kinds[NodeKindId(0)].host = HostSpec{Bytes(1000), std::nullopt, 1};
  PlatformSpec spec = test::built(std::move(form)).spec;
  for (const Transport transport : {Transport::Direct, Transport::Host}) {
    const bool is_direct = transport == Transport::Direct;
    spec.transport = transport;
    const Platform platform = build_platform(spec);
    const PairBandwidths rings = pair_bandwidths(platform, PairUse::Collective);
    CHECK(rings.between(DeviceId(0), DeviceId(2)) == BytesPerSecond(4));
    CHECK(rings.between(DeviceId(0), DeviceId(1)) == BytesPerSecond(16));
    const auto channel = [&](PairShare share, std::uint32_t a, std::uint32_t b) {
      return channel_bandwidths(platform, rings, share).between(DeviceId(a), DeviceId(b)).value();
    };
    CHECK(channel(PairShare::Nominal, 0, 2) == doctest::Approx(is_direct ? 4 : 2).epsilon(1e-12));
    CHECK(channel(PairShare::OneWay, 0, 2) == doctest::Approx(is_direct ? 1 : 0.5).epsilon(1e-12));
    CHECK(channel(PairShare::OneWay, 0, 1) == doctest::Approx(is_direct ? 16 : 4).epsilon(1e-12));
  }
}

double claimed(const Plan& plan) {
  return plan.predicted.period ? plan.predicted.period->value() : plan.predicted.iteration_time->value();
}

// What SPP and the periodic planners claim is what their own model gives, on the analytic network to rounding. A claim
// that charged the links alone would be less: the boundary of 10 bytes costs 5 s in place of 1 s.
TEST_CASE("host transport: planners claim what the analytic network confirms") {
  const LayerGraph graph = chain({1, 1, 1});
  for (const std::string name : {"spp", "contiguous", "madpipe", "dapple"}) {
    CAPTURE(name);
    const auto claim_on = [&](Transport transport) {
      const Platform platform = over_hosts(3, transport);
      const PlanResult result = run_planner(find_planner(name), graph, platform, {}, 64);
      REQUIRE(std::holds_alternative<Planned>(result));
      const Plan& plan = std::get<Planned>(result).plan;
      LowerOptions options;
      options.network = NetworkModel::Analytic;
      const Report report = evaluate_plan(graph, platform, plan, options);
      if (name != "dapple") {  // whose claim is of a pivot, and at most the time
        const double time = report.period ? report.period->value() : report.iterations.back().value();
        CHECK(claimed(plan) == doctest::Approx(time).epsilon(1e-6));
      }
      return claimed(plan);
    };
    CHECK(claim_on(Transport::Host) > claim_on(Transport::Direct));
  }
}

// PipeDream's form on one level: a straight pipeline of two equal layers on two devices. A stage takes 3 s; the
// boundary 2 * 10 / B: 2 s straight, and 10 s through host memory, with B = 1 / (1/5 + 1/10 + 1/5) = 2 B/s.
TEST_CASE("host transport: pipedream charges a boundary with all legs, and synchronisation with the links") {
  const LayerGraph graph = chain({1, 1});
  const auto claim = [&](Transport transport) {
    const PlanResult result = run_planner(find_planner("pipedream"), graph, over_hosts(2, transport),
                                          {{"straight", "true"}, {"boundary", "whole"}}, 64);
    return std::get<double>(detail(std::get<Planned>(result), "claimed_period_s").value);
  };
  CHECK(claim(Transport::Direct) == doctest::Approx(3).epsilon(1e-12));
  CHECK(claim(Transport::Host) == doctest::Approx(10).epsilon(1e-12));
}

}  // namespace
}  // namespace stagecraft::host_transport_test
