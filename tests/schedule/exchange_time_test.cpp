#include "sim/schedule/exchange_time.hpp"

#include "sim/model/measured_profiles.hpp"
#include "sim/schedule/exchange_phases.hpp"
#include "sim/schedule/layers_with_exchanges.hpp"
#include "tests/model/grouped_clusters.hpp"
#include "tests/schedule/all_reduce_runs.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::exchange_time_test {
namespace {

using Kind = Exchange::Kind;

/// Devices on one switch of 25 GB/s, with a latency of 2 us from device to device.
Platform on_a_switch(std::uint32_t devices, std::uint32_t nodes = 1) {
  return test::built(test::nodes_of(nodes, devices, Interconnect{SwitchedNode{}, test::link_of(25e9, 1e-6)},
                                    SwitchedNetwork{}, NicSpec{test::link_of(5e9, 1e-6), true}));
}

Group all_of(const Platform& platform) {
  Group group;
  group.devices = all_reduce_test::devices_of(platform);
  return group;
}

Degrees tensor_group(const Group& group) { return {.tensor = std::ssize(group.devices)}; }

Seconds time_in(const Platform& platform, const Group& group, const Exchange& exchange) {
  return ExchangeClock(platform, group, tensor_group(group)).time(exchange);
}

double time_on_a_switch(std::uint32_t devices, Kind kind, std::int64_t bytes) {
  const Platform platform = on_a_switch(devices);
  return time_in(platform, all_of(platform), {kind, Bytes(bytes)}).value();
}

TEST_CASE("exchange time: on one switch as the closed forms have it") {
  // 2 (n - 1) latencies and 2 (n - 1) / n of the bytes: 2 us, 25 GB/s.
  CHECK(time_on_a_switch(2, Kind::AllReduce, 1'048'576) == doctest::Approx(4.594304e-05).epsilon(1e-9));
  CHECK(time_on_a_switch(4, Kind::AllReduce, 67'108'864) == doctest::Approx(0.00403853184).epsilon(1e-9));
  CHECK(time_on_a_switch(8, Kind::AllReduce, 4096) == doctest::Approx(2.828672e-05).epsilon(1e-9));
  // Half of both.
  CHECK(time_on_a_switch(8, Kind::AllGather, 117'440'512) == doctest::Approx(0.00412441792).epsilon(1e-9));
  CHECK(time_on_a_switch(8, Kind::ReduceScatter, 117'440'512) == doctest::Approx(0.00412441792).epsilon(1e-9));
}

TEST_CASE("exchange time: counts every exchange, but no hidden one, and none of a single member") {
  const Platform platform = on_a_switch(4);
  ExchangeClock clock(platform, all_of(platform), tensor_group(all_of(platform)));
  const Exchange once{Kind::AllGather, Bytes(1 << 20)};
  const Seconds time = clock.time(once);
  CHECK(time == time_in(platform, all_of(platform), once));
  CHECK(clock.time({Kind::AllGather, Bytes(1 << 20), 3}) == time * 3.0);
  CHECK(clock.time({Kind::AllGather, Bytes(1 << 20), 3, true}) == Seconds());
  CHECK(clock.time({Kind::AllGather, Bytes(1 << 21)}) > time);
  CHECK(clock.time(std::vector{once, Exchange{Kind::AllReduce, Bytes(1 << 20)}}) ==
        time + clock.time({Kind::AllReduce, Bytes(1 << 20)}));
  CHECK(time_in(platform, DeviceId(2), {Kind::AllReduce, Bytes(8)}) == Seconds());
}

TEST_CASE("exchange time: products hide a part of the all-gathers and reduce-scatters of tensor groups") {
  PlatformSpec spec = on_a_switch(4).spec;
  const Platform plain = build_platform(spec);
  spec.collectives.overlap = 0.75;
  const Platform platform = build_platform(spec);
  const Group group = all_of(platform);
  const Degrees degrees{.tensor = 2, .context = 2};
  ExchangeClock clock(platform, group, degrees);
  ExchangeClock without(plain, group, degrees);
  const Bytes bytes(1 << 20);
  for (const Kind kind : {Kind::AllGather, Kind::ReduceScatter}) {
    CHECK(clock.time({kind, bytes, 3}).value() == doctest::Approx(0.25 * without.time({kind, bytes, 3}).value()));
    const Exchange of_context{.kind = kind, .bytes = bytes, .among = Exchange::Among::Context};
    CHECK(clock.time(of_context) == without.time(of_context));
  }
  CHECK(clock.time({Kind::AllReduce, bytes}) == without.time({Kind::AllReduce, bytes}));
}

TEST_CASE("exchange time: follows a table of bandwidths") {
  PlatformSpec spec = on_a_switch(4).spec;
  spec.collectives.table = {{Bytes(1000), BytesPerSecond(1000)}};
  const Platform platform = build_platform(std::move(spec));
  // 2 * 3/4 of 1000 B at 1000 B/s.
  CHECK(time_in(platform, all_of(platform), {Kind::AllReduce, Bytes(1000)}).value() == doctest::Approx(1.5));
  CHECK(time_in(platform, all_of(platform), {Kind::AllGather, Bytes(1000)}).value() == doctest::Approx(0.75));
  CHECK(time_in(platform, all_of(platform), {Kind::ReduceScatter, Bytes(1000)}).value() == doctest::Approx(0.75));
}

/// The parts of the bytes that cross each link.
std::map<LinkId, double> loads(const Platform& platform, const std::vector<AllReduce>& all) {
  std::map<LinkId, double> parts;
  Route route;
  for (const AllReduce& one : all) {
    for (const AllReducePhase& phase : one.phases) {
      for (const AllReduceFlow& flow : phase.flows) {
        REQUIRE(find_route(platform, platform.place(flow.from), platform.place(flow.to), route));
        for (const LinkId link : route.links)
          parts[link] += static_cast<double>(flow.part) / static_cast<double>(flow.of);
      }
    }
  }
  return parts;
}

TEST_CASE("exchange time: an all-reduce is a reduce-scatter and an all-gather") {
  test::RandomClusters clusters(5);
  int hierarchical = 0;
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    PlatformSpec spec = test::built(clusters.next()).spec;
    if (round % 2 == 0) spec.collectives.algorithm = CollectiveSpec::Algorithm::Hierarchical;
    const Platform platform = build_platform(std::move(spec));
    const Group group = all_of(platform);
    if (group.devices.size() < 2) continue;
    const auto phases = [&](Kind kind) {
      return exchange_phases(platform, {group.devices}, kind, Bytes(1'000'000'000));
    };
    const AllReduce whole = phases(Kind::AllReduce);
    CHECK(whole == all_reduce(platform, group.devices, Bytes(1'000'000'000)));
    const auto of_whole = loads(platform, {whole});
    const auto of_halves = loads(platform, {phases(Kind::ReduceScatter), phases(Kind::AllGather)});
    REQUIRE(of_whole.size() == of_halves.size());
    for (const auto& [link, part] : of_whole) CHECK(of_halves.at(link) == doctest::Approx(part).epsilon(1e-9));
    const auto time = [&](Kind kind) { return time_in(platform, group, {kind, Bytes(1'000'000'000)}).value(); };
    CHECK(time(Kind::ReduceScatter) == doctest::Approx(time(Kind::AllReduce) / 2).epsilon(1e-6));  // whole bytes
    CHECK(time(Kind::AllGather) == doctest::Approx(time(Kind::AllReduce) / 2).epsilon(1e-6));
    if (whole.phases.size() == 1) continue;
    ++hierarchical;
    CHECK(phases(Kind::ReduceScatter).phases.front() == whole.phases.front());
    CHECK(phases(Kind::AllGather).phases.back() == whole.phases.back());
  }
  CHECK(hierarchical > 20);
}

TEST_CASE("exchange time: the slowest group is the slowest of all") {
  test::GroupedClusters clusters(11);
  int not_first = 0;
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const std::uint32_t size = clusters.count(2, 4);
    const Platform whole = test::built(clusters.next(size));
    const PlatformGroups groups = platform_of_groups(whole, size);
    const Group slowest = slowest_group(groups, whole);
    const Exchange exchange{Kind::AllReduce, Bytes(std::int64_t{64} << 20)};
    Seconds longest;
    for (const Group& group : groups.groups) longest = std::max(longest, time_in(whole, group, exchange));
    CHECK(time_in(whole, slowest, exchange) == longest);
    not_first += slowest == groups.groups[DeviceId(0)] ? 0 : 1;
  }
  CHECK(not_first > 20);
}

/// Two layers, which exchange so many times 1 MiB for each sample: an all-gather each way, and a hidden one.
LayerGraph exchanging(const std::string& kind, std::int64_t samples) {
  LayerGraph graph = testing::chain(2, 1, 2, 0, 0, 0);
  graph.device_kind = kind;
  graph.degrees.tensor = 4;
  graph.microbatch_size = samples;
  for (const LayerId layer : indices(graph.layers)) {
    const Bytes bytes((std::int64_t{layer.value()} + 1) * (samples << 20));
    graph.layers[layer].backward_weight = Seconds(0.5);
    graph.layers[layer].forward_exchanges = {{Kind::AllGather, bytes}, {Kind::AllGather, bytes, 1, true}};
    graph.layers[layer].backward_exchanges = {{Kind::AllReduce, bytes, 2}};
  }
  return graph;
}

TEST_CASE("exchange time: layers take the time of what they exchange") {
  std::optional<Platform> platform = on_a_switch(4);
  const Group group = all_of(*platform);
  LayerGraph given = exchanging("A", 4);
  given.own_times =
      std::make_shared<MeasuredProfiles>(std::vector{exchanging("A", 2), exchanging("A", 4), exchanging("B", 4)});
  const LayerGraph graph = with_exchange_times(given, *platform, group);
  const auto check = [&](const LayerGraph& profile, std::int64_t samples) {
    const Platform switched = on_a_switch(4);
    for (const LayerId id : indices(profile.layers)) {
      const Layer& layer = profile.layers[id];
      const Bytes bytes((std::int64_t{id.value()} + 1) * (samples << 20));
      CHECK(layer.forward == Seconds(1) + time_in(switched, group, {Kind::AllGather, bytes}));
      CHECK(layer.backward == Seconds(2) + time_in(switched, group, {Kind::AllReduce, bytes, 2}));
      CHECK(layer.backward_weight == Seconds(0.5));
      CHECK(layer.forward_exchanges.empty());
      CHECK(layer.backward_exchanges.empty());
    }
  };
  check(graph, 4);
  platform.reset();  // its own times keep what they need
  check(graph.own_times->profile("A", 2), 2);
  check(graph.own_times->profile("B", 4), 4);
  CHECK_FALSE(graph.own_times->has("C"));
  CHECK(graph.own_times->origin("B", 4) == given.own_times->origin("B", 4));
  // Another graph without profiles of its own has none.
  CHECK(with_exchange_times(exchanging("A", 4), on_a_switch(4), group).own_times == nullptr);
}

}  // namespace
}  // namespace stagecraft::exchange_time_test
