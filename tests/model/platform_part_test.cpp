#include "sim/model/platform_part.hpp"

#include "sim/model/bandwidths.hpp"
#include "tests/model/topologies.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <variant>
#include <vector>

using namespace stagecraft;

namespace {

/// Two nodes of four devices, with hosts.
Platform two_nodes() {
  PlatformSpec spec;
  spec.name = "two nodes";
  spec.device_kinds.push_back({"A", Bytes(64), 1.0, Bytes(4), std::nullopt});
  NodeForm form;
  NodeKind kind{"node",
                DeviceKindId(0),
                4,
                Interconnect{SwitchedNode{}, {BytesPerSecond(100), Seconds(1)}},
                HostSpec{Bytes(90), LinkSpec{BytesPerSecond(20), Seconds(3)}, 2},
                NicSpec{{BytesPerSecond(10), Seconds(2)}, false}};
  form.node_kinds.push_back(kind);
  form.groups.push_back({NodeKindId(0), 2});
  spec.form = form;
  return build_platform(spec);
}

}  // namespace

TEST_CASE("platform part: devices keep their names, kinds and ways, and what has been observed of them") {
  Platform whole = two_nodes();
  whole.devices[DeviceId(3)].slowdown = 1.5;
  whole.devices[DeviceId(4)].memory = Bytes(32);
  const PlatformPart part = platform_without(whole, {DeviceId(1), DeviceId(6)});
  REQUIRE(part.platform.devices.size() == 6);
  for (DeviceId a : indices(part.devices)) {
    const DeviceId here = part.devices[a];
    CHECK(here != DeviceId(1));
    CHECK(part.platform.devices[a].name == whole.devices[here].name);
    CHECK(part.platform.devices[a].slowdown == whole.devices[here].slowdown);
    CHECK(part.platform.capacity(a) == whole.capacity(here));
    for (DeviceId b : indices(part.devices)) {
      if (a == b) continue;
      CHECK(pair_cost(part.platform, a, b) == pair_cost(whole, here, part.devices[b]));
    }
    Route there;
    REQUIRE(
        find_route(part.platform, part.platform.place(a), part.platform.place(part.platform.devices[a].host), there));
    CHECK(there.latency == Seconds(3));
    CHECK(narrowest_bandwidth(part.platform, there) == BytesPerSecond(20));
  }
  const Bytes of_three = part.platform.hosts[part.platform.devices[DeviceId(0)].host].memory;
  CHECK(of_three == Bytes(90 / 3));  // host0 has three devices left
}

TEST_CASE("platform part: the first devices have the ways that they have in the whole") {
  test::RandomClusters clusters(3);
  int of_nodes = 0;
  int of_one = 0;
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    Platform whole = test::built(clusters.next());
    for (Device& device : whole.devices) device.memory = Bytes(7);
    const std::size_t first = whole.nodes[NodeId(0)].first_device.value();
    REQUIRE(first == 0);
    std::vector<std::size_t> counts;  // of whole nodes, or of devices in the first
    for (const Node& node : whole.nodes) counts.push_back(node.first_device.value());
    counts[0] = whole.devices.size();
    const std::size_t in_first = whole.nodes.size() > 1 ? counts[1] : whole.devices.size();
    for (std::size_t count = 1; count < in_first; ++count) counts.push_back(count);
    for (const std::size_t count : counts) {
      CAPTURE(count);
      const Platform part = first_devices(whole, count);
      REQUIRE(part.devices.size() == count);
      CAPTURE(type_name(std::get<NodeForm>(whole.spec.form).node_kinds[NodeKindId(0)].interconnect.value()));
      const bool has_nodes = std::holds_alternative<NodeForm>(part.spec.form);
      of_nodes += has_nodes && part.nodes.size() > 1 ? 1 : 0;
      of_one += has_nodes && count < in_first ? 1 : 0;
      for (const DeviceId a : indices(part.devices)) {
        CHECK(part.devices[a].name == whole.devices[a].name);
        CHECK(part.capacity(a) == Bytes(7));
        for (DeviceId b(0); b < a; ++b) {
          const auto both = [&](const Platform& platform) {
            const PairCost there = pair_cost(platform, a, b).value();
            const PairCost back = pair_cost(platform, b, a).value();
            return std::min(there.bandwidth, back.bandwidth);
          };
          CHECK(both(part) == both(whole));
        }
      }
    }
  }
  CHECK(of_nodes > 100);
  CHECK(of_one > 100);
}

TEST_CASE("platform part: plans change between the part and the whole") {
  const PlatformPart part = platform_without(two_nodes(), {DeviceId(1)});
  Plan plan;
  plan.stages.resize(2);
  plan.stages[0].replicas = {DeviceId(0), DeviceId(1)};
  plan.stages[1].replicas = {DeviceId(6)};
  const Plan whole = plan_on_whole(part, plan);
  CHECK(devices_of(whole.stages[0]) == std::vector{DeviceId(0), DeviceId(2)});
  CHECK(devices_of(whole.stages[1]) == std::vector{DeviceId(7)});
  CHECK(plan_on_part(part, whole) == plan);
  CHECK_FALSE(plan_on_part(part, plan).has_value());  // gpu1 is not there
}
