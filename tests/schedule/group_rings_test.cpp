#include "sim/model/nics.hpp"
#include "sim/model/platform_groups.hpp"
#include "sim/schedule/flow_times.hpp"
#include "tests/model/grouped_clusters.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft::group_rings_test {
namespace {

using Algorithm = CollectiveSpec::Algorithm;
using Members = std::vector<DeviceId>;

constexpr Bytes kBytes{1'000'003};

/// The all-reduces of all members at the same time, each with its counterparts of the other groups.
AllReduce of_all_members(const Platform& whole, const PlatformGroups& groups, const Members& ring, std::size_t size) {
  AllReduce merged;
  for (std::size_t member = 0; member < size; ++member) {
    Members counterparts;
    for (const DeviceId group : ring) counterparts.push_back(groups.groups[group].devices[member]);
    const AllReduce own = all_reduce(whole, counterparts, kBytes);
    merged.phases.resize(own.phases.size());
    for (std::size_t phase = 0; phase < own.phases.size(); ++phase) {
      merged.phases[phase].steps = own.phases[phase].steps;
      merged.phases[phase].latency = own.phases[phase].latency;
      std::ranges::copy(own.phases[phase].flows, std::back_inserter(merged.phases[phase].flows));
    }
  }
  return merged;
}

Seconds time_of(const Platform& whole, const AllReduce& all_reduce) {
  Seconds time;
  for (const AllReducePhase& phase : all_reduce.phases) {
    time += latency_before(whole, phase) + phase_time(whole, phase, Bytes(0), kBytes);
  }
  return time;
}

/// Whether devices have a way inside the node to a NIC that is their group's own: rings inside nodes then load it, too.
bool has_ways_to_nics(const Platform& whole, const Platform& groups) {
  const auto& form = std::get<NodeForm>(whole.spec.form);
  const auto& of_groups = std::get<NodeForm>(groups.spec.form);
  return std::ranges::any_of(form.groups, [&](const NodeGroup& nodes) {
    return way_to_nic(form.node_kinds[nodes.kind]) != way_to_nic(of_groups.node_kinds[nodes.kind]);
  });
}

/// All of the platform's devices, or some, in their order.
Members some_of(test::GroupedClusters& random, const Platform& platform) {
  const bool takes_all = random.count(0, 1) == 0;
  Members members;
  for (const DeviceId device : indices(platform.devices)) {
    if (takes_all || random.count(0, 2) > 0) members.push_back(device);
  }
  return members;
}

TEST_CASE("platform groups: an all-reduce takes as long as those of all members at the same time") {
  test::GroupedClusters clusters(7);
  int across = 0;
  int hierarchical = 0;
  const int rounds = testing::random_cases(2000);
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const std::uint32_t size = clusters.count(2, 4);
    PlatformSpec spec = test::built(clusters.next(size)).spec;
    spec.collectives.algorithm = clusters.count(0, 1) == 0 ? Algorithm::Ring : Algorithm::Hierarchical;
    spec.collectives.efficiency = 0.75;
    if (round % 2 == 0) spec.collectives.network_efficiency = 0.5;
    if (round % 3 == 0) spec.collectives.latency = Seconds(1e4);
    const Platform whole = build_platform(std::move(spec));
    const PlatformGroups groups = platform_of_groups(whole, size);
    if (std::holds_alternative<ExplicitForm>(groups.platform.spec.form) || test::spreads_pairs(whole)) continue;
    const Members ring = some_of(clusters, groups.platform);
    if (ring.size() < 2 || has_ways_to_nics(whole, groups.platform)) continue;
    CAPTURE(size);
    const AllReduce merged = of_all_members(whole, groups, ring, size);
    const double time =
        lowered_time(groups.platform, MemberRings{ring}, Exchange::Kind::AllReduce, Bytes(0), kBytes).value();
    CHECK(time == doctest::Approx(time_of(whole, merged).value()).epsilon(1e-9));
    across += groups.platform.devices[ring.front()].node != groups.platform.devices[ring.back()].node ? 1 : 0;
    hierarchical += merged.phases.size() > 1 ? 1 : 0;
  }
  CHECK(across > rounds / 10);
  CHECK(hierarchical > rounds / 80);
}

// 2 groups, each a node of 4 devices with a NIC of 1 GB/s for each: every member sends 2 * 1/2 of 1 MB over its own.
TEST_CASE("platform groups: members of a node with NICs of their own share no link of a ring") {
  const Interconnect inside{SwitchedNode{}, test::link_of(8e9)};
  const Platform whole =
      test::built(test::nodes_of(2, 4, inside, SwitchedNetwork{}, NicSpec{test::link_of(1e9), true}));
  const PlatformGroups groups = platform_of_groups(whole, 4);
  CHECK(
      lowered_time(groups.platform, {{DeviceId(0), DeviceId(1)}}, Exchange::Kind::AllReduce, Bytes(0), Bytes(1'000'000))
          .value() == doctest::Approx(1e-3).epsilon(1e-9));
}

}  // namespace
}  // namespace stagecraft::group_rings_test
