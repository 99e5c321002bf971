#include "sim/model/platform_groups.hpp"

#include "sim/base/error.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/model/node_form_groups.hpp"
#include "tests/model/grouped_clusters.hpp"
#include "tests/paths.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace stagecraft;

namespace {

using Ways = std::vector<std::pair<PlaceId, PlaceId>>;

constexpr double kBytes = 1000.0;

Ways to_counterparts(const Platform& whole, const Group& a, const Group& b) {
  Ways ways;
  for (std::size_t i = 0; i < a.devices.size(); ++i) {
    ways.emplace_back(whole.place(a.devices[i]), whole.place(b.devices[i]));
  }
  return ways;
}

Ways to_hosts(const Platform& whole, const Group& group, bool is_back) {
  Ways ways;
  for (const DeviceId member : group.devices) {
    const PlaceId device = whole.place(member);
    const PlaceId host = whole.place(whole.devices[member].host);
    ways.emplace_back(is_back ? host : device, is_back ? device : host);
  }
  return ways;
}

/// How the time of one transfer between groups compares with that of all members together.
struct Comparison {
  std::optional<double> of_groups;
  std::optional<double> of_members;
};

/// In the explicit form a link is as slow in both directions as in the slower one.
Comparison compared(const Platform& whole, const PlatformGroups& groups, DeviceId a, DeviceId b) {
  const Platform& platform = groups.platform;
  Comparison result{test::joint_time(platform, {{platform.place(a), platform.place(b)}}, kBytes),
                    test::joint_time(whole, to_counterparts(whole, groups.groups[a], groups.groups[b]), kBytes)};
  if (std::holds_alternative<ExplicitForm>(platform.spec.form) && result.of_members) {
    result.of_members =
        std::max(*result.of_members,
                 test::joint_time(whole, to_counterparts(whole, groups.groups[b], groups.groups[a]), kBytes).value());
  }
  return result;
}

void check_all_pairs(const Platform& whole, const PlatformGroups& groups) {
  for (const DeviceId a : indices(groups.groups)) {
    for (const DeviceId b : indices(groups.groups)) {
      if (a == b) continue;
      CAPTURE(a.value());
      CAPTURE(b.value());
      const Comparison times = compared(whole, groups, a, b);
      REQUIRE(times.of_groups.has_value() == times.of_members.has_value());
      if (!times.of_groups) continue;
      if (test::spreads_pairs(whole) && std::holds_alternative<NodeForm>(groups.platform.spec.form)) {
        CHECK(*times.of_groups <= *times.of_members * (1 + 1e-9));
      } else {
        CHECK(*times.of_groups == doctest::Approx(*times.of_members).epsilon(1e-9));
      }
    }
  }
}

void check_hosts(const Platform& whole, const PlatformGroups& groups) {
  const Platform& platform = groups.platform;
  for (const DeviceId group : indices(groups.groups)) {
    REQUIRE_FALSE(platform.devices[group].host.is_none());
    const PlaceId host = platform.place(platform.devices[group].host);
    const double there = test::joint_time(platform, {{platform.place(group), host}}, kBytes).value();
    const double back = test::joint_time(platform, {{host, platform.place(group)}}, kBytes).value();
    CHECK(there ==
          doctest::Approx(test::joint_time(whole, to_hosts(whole, groups.groups[group], false), kBytes).value())
              .epsilon(1e-9));
    CHECK(back == doctest::Approx(test::joint_time(whole, to_hosts(whole, groups.groups[group], true), kBytes).value())
                      .epsilon(1e-9));
  }
}

/// Bytes of each member that all groups can keep in host memory at once, if all keep equally much.
double kept_by_each(const Platform& platform, std::size_t members) {
  double least = 1e18;
  for (const HostId host : indices(platform.hosts)) {
    const auto sharers = std::ranges::count(platform.devices.items(), host, &Device::host);
    least = std::min(least, static_cast<double>(platform.hosts[host].memory.value()) /
                                static_cast<double>(sharers * static_cast<std::ptrdiff_t>(members)));
  }
  return least;
}

/// Devices on a few switches, with links between some, and a default link for the others if `is_complete`.
Platform random_explicit(test::GroupedClusters& random, std::uint32_t devices, bool is_complete) {
  ExplicitForm form;
  const std::uint32_t switches = random.count(1, 3);
  for (std::uint32_t i = 0; i < switches; ++i) form.switches.push_back("switch" + std::to_string(i));
  for (std::uint32_t i = 1; i < switches; ++i) {
    form.links.push_back({"", std::pair<ExplicitEnd, ExplicitEnd>(SwitchId(i - 1), SwitchId(i)), random.link()});
  }
  for (DeviceId device(0); device.value() < devices; ++device) {
    form.devices.push_back(
        {"gpu" + std::to_string(device.value()), DeviceKindId(0), HostSpec{Bytes(100), random.link()}});
    const std::uint32_t at = random.count(0, is_complete ? switches : switches - 1);
    if (at < switches) {
      form.links.push_back({"", std::pair<ExplicitEnd, ExplicitEnd>(device, SwitchId(at)), random.link()});
    }
    if (device.value() > 0 && random.count(0, 2) == 0) {
      const DeviceId other(random.count(0, device.value() - 1));
      form.links.push_back({"", std::pair<ExplicitEnd, ExplicitEnd>(other, device), random.link()});
    }
  }
  if (is_complete) form.default_link = random.link();
  PlatformSpec spec = test::built(test::nodes_of(1, 1, std::nullopt)).spec;
  spec.form = std::move(form);
  return build_platform(std::move(spec));
}

/// A node of eight devices in pairs under PCIe switches.
NodeForm one_tree() {
  return test::nodes_of(2, 8, Interconnect{PcieNode{4, test::link_of(8), 1, test::link_of(4)}, test::link_of(16)},
                        SwitchedNetwork{}, NicSpec{test::link_of(2), true, 4});
}

bool remains_of_nodes(const Platform& whole, std::int64_t size) {
  const auto* nodes = std::get_if<NodeForm>(&whole.spec.form);
  return nodes != nullptr && form_of_groups(*nodes, static_cast<std::uint32_t>(size)).has_value();
}

std::optional<PlatformGroups> groups_or_refused(const Platform& whole, std::int64_t size) {
  try {
    return platform_of_groups(whole, size);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace

TEST_CASE("platform groups: a transfer takes as long as those of all members at the same time") {
  test::GroupedClusters clusters(1);
  std::set<std::string> of_nodes;  // types of nodes and of networks that remain what they are
  int by_pair = 0;
  const int rounds = testing::draws_all() ? 600 : 150;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const std::uint32_t size = clusters.count(2, 4);
    CAPTURE(size);
    const Platform whole = test::built(clusters.next(size));
    const PlatformGroups groups = platform_of_groups(whole, size);
    REQUIRE(groups.platform.devices.size() * size == whole.devices.size());
    check_all_pairs(whole, groups);
    check_hosts(whole, groups);
    const auto* form = std::get_if<NodeForm>(&groups.platform.spec.form);
    if (form == nullptr) {
      ++by_pair;
      continue;
    }
    for (const NodeKind& kind : form->node_kinds) {
      if (kind.interconnect && kind.device_count > 1) of_nodes.insert(type_name(*kind.interconnect));
    }
    if (groups.platform.nodes.size() > 1) of_nodes.insert(std::string("network ") + type_name(form->network));
  }
  CHECK(of_nodes == std::set<std::string>{"switch", "full", "pcie", "network switch", "network full", "network ring",
                                          "network torus", "network fat-tree", "network dragonfly", "network rails"});
  CHECK(by_pair > rounds / 6);
}

TEST_CASE("platform groups: in the explicit form, too") {
  test::GroupedClusters random(2);
  int built = 0;
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const std::uint32_t size = random.count(2, 4);
    const Platform whole = random_explicit(random, size * random.count(1, 5), random.count(0, 1) == 1);
    const PlatformGroups groups = platform_of_groups(whole, size);
    check_all_pairs(whole, groups);
    check_hosts(whole, groups);
    built += groups.platform.links.empty() ? 0 : 1;
  }
  CHECK(built > 100);
}

TEST_CASE("platform groups: keep in host memory what all members can keep there") {
  test::GroupedClusters clusters(3);
  for (int round = 0; round < 100; ++round) {
    const std::uint32_t size = clusters.count(2, 4);
    const Platform whole = test::built(clusters.next(size));
    const PlatformGroups groups = platform_of_groups(whole, size);
    const double members = kept_by_each(whole, 1);
    const double of_groups = kept_by_each(groups.platform, 1);
    CHECK(of_groups <= members);
    CHECK(of_groups >= members - 2);  // whole bytes
  }
}

TEST_CASE("platform groups: a PCIe tree by hand") {
  const Platform whole = test::built(one_tree());
  // Pairs under a switch: two of them share the uplink, the NIC and the socket link.
  const PlatformGroups pairs = platform_of_groups(whole, 2);
  const NodeKind& of_pairs = std::get<NodeForm>(pairs.platform.spec.form).node_kinds[NodeKindId(0)];
  CHECK(of_pairs.device_count == 4);
  CHECK(of_pairs.interconnect->link.bandwidth == BytesPerSecond(16));
  CHECK(std::get<PcieNode>(of_pairs.interconnect->shape) == PcieNode{2, test::link_of(4), 1, test::link_of(2)});
  CHECK(of_pairs.nic->link.bandwidth == BytesPerSecond(1));
  CHECK(of_pairs.nic->shared_by == 2);
  // A node as a group has two switches and two NICs, each with four members.
  const PlatformGroups nodes = platform_of_groups(whole, 8);
  const NodeKind& of_node = std::get<NodeForm>(nodes.platform.spec.form).node_kinds[NodeKindId(0)];
  CHECK(of_node.device_count == 1);
  CHECK(std::get<PcieNode>(of_node.interconnect->shape).uplink.bandwidth == BytesPerSecond(2));
  CHECK(of_node.nic->link.bandwidth == BytesPerSecond(0.5));
  CHECK(of_node.nic->shared_by == 1);
}

TEST_CASE("platform groups: of one device are the platform itself") {
  Platform whole = test::built(one_tree());
  whole.devices[DeviceId(3)].slowdown = 1.5;
  const PlatformGroups groups = platform_of_groups(whole, 1);
  CHECK(groups.platform == whole);
  CHECK(groups.groups[DeviceId(5)] == Group(DeviceId(5)));
}

TEST_CASE("platform groups: are as slow as the slowest member, and as small as the smallest") {
  Platform whole = test::built(one_tree());
  whole.precision = "bf16";
  whole.devices[DeviceId(1)].slowdown = 1.5;
  whole.devices[DeviceId(6)].slowdown = 0.5;
  whole.devices[DeviceId(7)].slowdown = 0.75;
  whole.devices[DeviceId(4)].memory = Bytes(7);
  whole.devices[DeviceId(5)].memory = Bytes(5);
  const Platform groups = platform_of_groups(whole, 2).platform;
  CHECK(groups.precision == "bf16");
  CHECK(groups.devices[DeviceId(0)].slowdown == 1.5);
  CHECK(groups.devices[DeviceId(1)].slowdown == 1.0);
  CHECK(groups.devices[DeviceId(3)].slowdown == 0.75);
  CHECK(groups.memory(DeviceId(2)) == Bytes(5));
  CHECK(groups.memory(DeviceId(1)) == whole.memory(DeviceId(2)));
}

TEST_CASE("platform groups: keep what the whole says of collectives") {
  PlatformSpec spec = test::built(one_tree()).spec;
  spec.collectives = {.efficiency = 0.5, .rings = 3, .table = {{Bytes(8), BytesPerSecond(4)}}};
  const Platform whole = build_platform(spec);
  for (const std::int64_t size : {2, 8}) {
    const Platform groups = platform_of_groups(whole, size).platform;
    CHECK(groups.spec.collectives == spec.collectives);
    CHECK(groups.spec.name == spec.name);
  }
}

TEST_CASE("platform groups: a plan for groups is one for their members") {
  const PlatformGroups groups = platform_of_groups(test::built(one_tree()), 4);
  Plan plan;
  plan.stages.resize(2);
  plan.stages[0].replicas = {DeviceId(2), DeviceId(0)};
  plan.stages[0].ring = {1, 0};
  plan.stages[1].replicas = {DeviceId(3)};
  plan.predicted.peak_memory = {{DeviceId(0), Bytes(10)}, {DeviceId(3), Bytes(20)}};
  const Plan whole = plan_on_whole(groups, plan);
  CHECK(whole.stages[0].replicas[0].devices == std::vector{DeviceId(8), DeviceId(9), DeviceId(10), DeviceId(11)});
  CHECK(whole.stages[0].replicas[1].devices == std::vector{DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3)});
  CHECK(whole.stages[0].ring == plan.stages[0].ring);
  CHECK(whole.stages[1].replicas[0].lead() == DeviceId(12));
  REQUIRE(whole.predicted.peak_memory.size() == 8);
  CHECK(whole.predicted.peak_memory[3] == std::pair(DeviceId(3), Bytes(10)));
  CHECK(whole.predicted.peak_memory[7] == std::pair(DeviceId(15), Bytes(20)));
}

TEST_CASE("platform groups: what cannot be a group is refused") {
  const auto refusal = [](const Platform& whole, std::int64_t size) -> std::string {
    try {
      static_cast<void>(platform_of_groups(whole, size));
    } catch (const InputError& error) {
      return error.message() + "; " + error.hint();
    }
    return "accepted";
  };
  CHECK(refusal(test::built(one_tree()), 3) ==
        "expected groups whose size divides the 16 devices of platform 'test', found groups of 3; such sizes are 1, 2, "
        "4, 8, 16");
  const Platform apart = test::built(test::nodes_of(2, 2, Interconnect{SwitchedNode{}, test::link_of(1)}));
  CHECK(refusal(apart, 2) == "accepted");
  CHECK(refusal(apart, 4) ==
        "the devices gpu0 to gpu3 of platform 'test' cannot be a group of 4: gpu1 and gpu2 are not connected; add "
        "links, routes, a default_link, an interconnect or a nic");
  PlatformSpec mixed = test::built(one_tree()).spec;
  mixed.device_kinds.push_back({"B", Bytes(1), 1.0, Bytes(0), std::nullopt});
  auto& form = std::get<NodeForm>(mixed.form);
  NodeKind other = form.node_kinds[NodeKindId(0)];
  other.device_kind = DeviceKindId(1);
  form.groups = {{NodeKindId(0), 1}, {form.node_kinds.push_back(other), 1}};
  CHECK(refusal(build_platform(mixed), 8) == "accepted");
  CHECK(refusal(build_platform(mixed), 16) ==
        "the devices gpu0 to gpu15 of platform 'test' cannot be a group of 16: gpu8 is of the kind 'B' and gpu0 of the "
        "kind 'A'; a group has devices of one kind, which follow each other in the platform");
  const Platform rings = test::built(test::nodes_of(513, 8, Interconnect{RingNode{}, test::link_of(1)},
                                                    SwitchedNetwork{}, NicSpec{test::link_of(1), true}));
  CHECK(refusal(rings, 8) == "accepted");
  CHECK(refusal(rings, 4) ==
        "the 1026 groups of platform 'test' would each need links to all others, which at most 1024 groups can have; "
        "choose larger groups, or a size that divides the devices of every node");
}

TEST_CASE("platform groups: every shipped platform has groups of the sizes that divide its devices of a kind") {
  std::set<std::string> refused;
  int built = 0;
  for (const auto& entry : std::filesystem::directory_iterator(STAGECRAFT_SOURCE_DIR "/platforms")) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path().string());
    const Platform whole = build_platform(read_platform_file(entry.path().string()));
    for (const std::int64_t size : {2, 4, 8}) {
      CAPTURE(size);
      const std::int64_t devices = std::ssize(whole.devices.items());
      const bool takes_seconds = devices / size > 512 && !remains_of_nodes(whole, size);
      if (devices % size != 0 || takes_seconds) continue;
      const std::optional<PlatformGroups> groups = groups_or_refused(whole, size);
      if (!groups) {
        refused.insert(entry.path().stem().string() + " " + std::to_string(size));
        continue;
      }
      ++built;
      CHECK(std::ssize(groups->platform.devices.items()) * size == devices);
      CHECK(parse_platform(write_platform(groups->platform.spec), "groups") == groups->platform.spec);
      if (groups->platform.devices.size() <= 64) check_all_pairs(whole, *groups);
    }
  }
  CHECK(built > 40);
  CHECK(refused == std::set<std::string>{"mixed-v100-a100 4"});  // two V100 and two A100
}
