#include "sim/model/attachment.hpp"

#include "tests/model/topologies.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::test {
namespace {

using Devices = std::vector<DeviceId>;

SmallestBandwidth of_all_pairs(const Platform& platform, const Devices& a, const Devices& b, PairUse use) {
  SmallestBandwidth smallest;
  for (DeviceId one : a) {
    for (DeviceId other : b) smallest.add_both_ways(platform, one, other, use);
  }
  return smallest;
}

/// Devices in any order, each with the same chance.
Devices some_devices(const Platform& platform, std::mt19937& random) {
  Devices devices;
  const std::uint32_t chances = 1 + random() % 4;
  for (DeviceId device : indices(platform.devices)) {
    if (random() % chances == 0) devices.push_back(device);
  }
  std::shuffle(devices.begin(), devices.end(), random);
  return devices;
}

void check_like_all_pairs(const Platform& platform, const Devices& a, const Devices& b, PairUse use) {
  const SmallestBandwidth expected = of_all_pairs(platform, a, b, use);
  const std::optional<SmallestBandwidth> found = smallest_bandwidth_by_attachment(platform, a, b, use);
  REQUIRE(found);
  CHECK(found->bandwidth == expected.bandwidth);
  CHECK(found->apart.has_value() == expected.apart.has_value());
  const SmallestBandwidth both_ways = smallest_bandwidth_both_ways(platform, a, b, use);
  CHECK(both_ways.bandwidth == expected.bandwidth);
  CHECK(both_ways.apart == expected.apart);
}

TEST_CASE("attachment: few pairs have the smallest bandwidth of all pairs, on 300 random clusters, seed 7") {
  RandomClusters clusters(7);
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    NodeForm form = clusters.next();
    for (NodeKind& kind : form.node_kinds) {
      kind.host = HostSpec{Bytes(1000), link_of(1 + random() % 50), 1};
      if (random() % 16 == 0) kind.nic.reset();
      if (random() % 16 == 0) kind.interconnect.reset();
    }
    PlatformSpec spec = built(std::move(form)).spec;
    spec.transport = random() % 2 == 0 ? Transport::Direct : Transport::Host;
    const Platform platform = build_platform(std::move(spec));
    for (PairUse use : {PairUse::Boundary, PairUse::Collective}) {
      check_like_all_pairs(platform, some_devices(platform, random), some_devices(platform, random), use);
    }
  }
}

// Five nodes of 4 devices below each leaf switch. Three levels, at 40, 20 and 10 B/s above a card of 50 B/s.
TEST_CASE("attachment: in a fat tree the highest level that any pair crosses decides") {
  const FatTreeNetwork tree{{{5, 6.25, 1, Seconds(0)}, {2, 4.0, 1, Seconds(0)}, {2, 4.0, 1, Seconds(0)}}, {}};
  const Platform platform =
      built(nodes_of(40, 4, Interconnect{SwitchedNode{}, link_of(60)}, tree, NicSpec{link_of(50), false}));
  const auto smallest = [&](std::uint32_t first, std::uint32_t second) {  // of 20 devices from one, 20 from the other
    Devices a;
    Devices b;
    for (std::uint32_t i = 0; i < 20; ++i) {
      a.emplace_back(first + i);
      b.emplace_back(second + i);
    }
    const std::optional<SmallestBandwidth> found = smallest_bandwidth_by_attachment(platform, a, b, PairUse::Boundary);
    CHECK(found->bandwidth == of_all_pairs(platform, a, b, PairUse::Boundary).bandwidth);
    return found->bandwidth;
  };
  CHECK(smallest(0, 0) == BytesPerSecond(50));
  CHECK(smallest(0, 20) == BytesPerSecond(40));
  CHECK(smallest(20, 40) == BytesPerSecond(20));
  CHECK(smallest(0, 80) == BytesPerSecond(10));
}

/// Links of 1 to 66 B/s between 12 devices, each with every other but the two of `apart`.
Platform explicit_platform(std::optional<std::pair<DeviceId, DeviceId>> apart) {
  PlatformSpec spec = built(nodes_of(1, 1, std::nullopt)).spec;
  ExplicitForm form;
  double bandwidth = 0.0;
  for (std::uint32_t i = 0; i < 12; ++i) {
    form.devices.push_back({"gpu" + std::to_string(i), DeviceKindId(0), std::nullopt});
    for (std::uint32_t j = 0; j < i; ++j) {
      const std::pair pair{DeviceId(j), DeviceId(i)};
      bandwidth += 1.0;
      if (pair != apart) form.links.push_back({"", pair, link_of(bandwidth)});
    }
  }
  spec.form = std::move(form);
  return build_platform(std::move(spec));
}

TEST_CASE("attachment: on an explicit platform every pair counts") {
  const Platform platform = explicit_platform(std::nullopt);
  Devices most;  // all but gpu0: the first pair of these, gpu1 and gpu2, has the third link
  for (std::uint32_t i = 1; i < 12; ++i) most.emplace_back(i);
  CHECK_FALSE(smallest_bandwidth_by_attachment(platform, most, most, PairUse::Boundary));
  CHECK(smallest_bandwidth_both_ways(platform, most, most).bandwidth == BytesPerSecond(3));
  const std::pair pair{DeviceId(3), DeviceId(7)};
  CHECK(smallest_bandwidth_both_ways(explicit_platform(pair), most, most).apart == pair);
}

}  // namespace
}  // namespace stagecraft::test
