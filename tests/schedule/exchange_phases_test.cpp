#include "sim/schedule/exchange_phases.hpp"

#include "sim/schedule/exchange_time.hpp"
#include "tests/model/grouped_clusters.hpp"
#include "tests/schedule/all_reduce_runs.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace stagecraft::exchange_phases_test {
namespace {

using Among = Exchange::Among;
using Kind = Exchange::Kind;

Group group_of(std::uint32_t devices) {
  Group group;
  group.devices.clear();
  for (std::uint32_t i = 0; i < devices; ++i) group.devices.emplace_back(i);
  return group;
}

/// Nodes of devices on a switch of 25 GB/s, with a latency of 2 us from device to device, and a NIC of 5 GB/s for each.
Platform cluster(std::uint32_t nodes, std::uint32_t devices) {
  return test::built(test::nodes_of(nodes, devices, Interconnect{SwitchedNode{}, test::link_of(25e9, 1e-6)},
                                    SwitchedNetwork{}, NicSpec{test::link_of(5e9, 1e-6), true}));
}

std::vector<std::vector<std::uint32_t>> numbers(const MemberRings& sets) {
  std::vector<std::vector<std::uint32_t>> all;
  for (const std::vector<DeviceId>& set : sets) {
    std::vector<std::uint32_t>& own = all.emplace_back();
    for (const DeviceId device : set) own.push_back(device.value());
  }
  return all;
}

TEST_CASE("exchange phases: who exchanges with whom follows from the ranks") {
  const Degrees degrees{.tensor = 2, .context = 2, .expert = 8};
  const Group group = group_of(8);
  REQUIRE(degrees.devices() == 8);
  CHECK(numbers(exchanging(group, degrees, Among::Tensor)) ==
        std::vector<std::vector<std::uint32_t>>{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(numbers(exchanging(group, degrees, Among::Context)) ==
        std::vector<std::vector<std::uint32_t>>{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  CHECK(numbers(exchanging(group, degrees, Among::Expert)) ==
        std::vector<std::vector<std::uint32_t>>{{0, 1, 2, 3, 4, 5, 6, 7}});
  CHECK(numbers(exchanging(group, {.tensor = 4, .context = 2, .expert = 2}, Among::Expert)) ==
        std::vector<std::vector<std::uint32_t>>{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
}

// The seconds of these cases were computed independently of this program (closed forms of one switch).
TEST_CASE("exchange phases: on one switch as the closed forms have it") {
  const Platform eight = cluster(1, 8);
  const MemberRings all{group_of(8).devices};
  // 7 latencies and 7/8 of 1.3 times 134,217,728 B; the bytes of the busiest are rounded up to a whole one.
  const Seconds skewed = exchange_time(eight, all, Kind::AllToAll, scale_up(Bytes(134'217'728), 1.3));
  CHECK(skewed.value() == doctest::Approx(0.006120906624).epsilon(1e-8));
  // Four members, each of which computes 2 ms between two steps; eight with 0.4 ms.
  const auto ring = [](std::uint32_t members, std::int64_t bytes, double computes) {
    const Platform platform = cluster(1, members);
    ExchangeClock clock(platform, group_of(members), {.context = members});
    const Exchange step{.kind = Kind::Shift,
                        .bytes = Bytes(bytes),
                        .count = members - 1,
                        .among = Among::Context,
                        .beside = Seconds(computes)};
    return computes * members + clock.time(step).value();
  };
  CHECK(ring(4, 33'554'432, 0.002) == doctest::Approx(0.008).epsilon(1e-9));
  CHECK(ring(8, 16'777'216, 0.0004) == doctest::Approx(0.0051116204800000006).epsilon(1e-9));
}

TEST_CASE("exchange phases: in an all-to-all everybody sends everybody else an equal part, one at a time") {
  test::RandomClusters clusters(23);
  int several = 0;
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const Platform platform = test::built(clusters.next());
    const std::vector<DeviceId> members = all_reduce_test::devices_of(platform);
    if (members.size() < 2) continue;
    const AllReduce steps = exchange_phases(platform, {members}, Kind::AllToAll, Bytes(1 << 20));
    CHECK(steps.phases.size() == members.size() - 1);
    std::set<std::pair<DeviceId, DeviceId>> pairs;
    for (const AllReducePhase& step : steps.phases) {
      std::set<DeviceId> senders;
      std::set<DeviceId> receivers;
      std::set<bool> leaves;
      for (const AllReduceFlow& flow : step.flows) {
        CHECK(flow.from != flow.to);
        CHECK(pairs.emplace(flow.from, flow.to).second);
        CHECK((flow.part == 1 && flow.of == std::ssize(members)));
        senders.insert(flow.from);
        receivers.insert(flow.to);
        leaves.insert(platform.devices[flow.from].node != platform.devices[flow.to].node);
      }
      CHECK((senders.size() == members.size() && receivers.size() == members.size()));
      several += leaves.size() > 1 ? 1 : 0;
    }
    CHECK(pairs.size() == members.size() * (members.size() - 1));
  }
  CHECK(several > 0);  // nodes with different numbers of devices
}

TEST_CASE("exchange phases: of even nodes no step of an all-to-all waits for a NIC that it does not need") {
  const Platform platform = cluster(2, 4);
  // 3 steps inside nodes and 4 across: the eighth part of 8 MB over 25 GB/s or 5 GB/s.
  const Seconds time = exchange_time(platform, {group_of(8).devices}, Kind::AllToAll, Bytes(8'000'000));
  const double inside = 3 * (2e-6 + 1e6 / 25e9);
  CHECK(time.value() > inside + 4 * 1e6 / 5e9);
  CHECK(time.value() < inside + 4 * (1e6 / 5e9 + 5e-6));
}

TEST_CASE("exchange phases: with a table of all-reduces as long as one that sends as much") {
  PlatformSpec spec = cluster(1, 4).spec;
  spec.collectives.table = {{Bytes(1000), BytesPerSecond(1000)}};
  const Platform platform = build_platform(std::move(spec));
  const MemberRings all{group_of(4).devices};
  CHECK(exchange_time(platform, all, Kind::AllToAll, Bytes(1000)).value() == doctest::Approx(0.75));
  CHECK(exchange_time(platform, all, Kind::Shift, Bytes(1000)).value() == doctest::Approx(1.0));
}

}  // namespace
}  // namespace stagecraft::exchange_phases_test
