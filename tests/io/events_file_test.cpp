#include "sim/io/events_file.hpp"

#include "sim/io/platform_file.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace stagecraft;

namespace {

const std::string kGood = STAGECRAFT_SOURCE_DIR "/tests/vectors/good/";

Platform platform_of(const std::string& name) { return build_platform(read_platform_file(kGood + name)); }

std::vector<NamedEvent> parsed(const std::string& items) {
  return parse_events("schema: stagecraft/events/1\nevents: [" + items + "]\n", "e.yaml");
}

/// The names of the links whose bandwidth changes, and of those that fail.
std::vector<std::string> links_of(const std::string& link, const Platform& platform) {
  std::vector<std::string> names;
  for (const Event& event : resolve_events(parsed("{at: 1 s, link: " + link + ", fails_for: 2 s}"), platform)) {
    const auto& failure = std::get<LinkFailure>(event.change);
    CHECK(failure.duration == Seconds(2));
    names.push_back(platform.links[failure.link].name);
  }
  const std::vector<std::string> failing = std::exchange(names, {});
  for (const Event& event : resolve_events(parsed("{at: 1 s, link: " + link + ", bandwidth: 5 GBps}"), platform)) {
    const auto& change = std::get<BandwidthChange>(event.change);
    CHECK(change.bandwidth == BytesPerSecond(5e9));
    CHECK(event.at == Seconds(1));
    names.push_back(platform.links[change.link].name);
  }
  CHECK(names == failing);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("events file: every kind, at a time and at a microbatch") {
  const std::vector<NamedEvent> events = load_events(kGood + "events_all.yaml", "events_all.yaml").events;
  REQUIRE(events.size() == 15);
  CHECK(events[0].event == Event{Seconds(0), std::nullopt, Jitter{0.05, 3}});
  CHECK(events[0].names.empty());
  CHECK(events[1].event == Event{Seconds(0), 4, Slowdown{DeviceId::none(), 1.5}});
  CHECK(events[1].names == Names{"gpu1"});
  CHECK(events[2].event == Event{Seconds(0.01), std::nullopt, BandwidthChange{LinkId::none(), BytesPerSecond(5e9)}});
  CHECK(events[2].names == Names{"gpu0", "gpu1"});
  CHECK(events[3].names == Names{"gpu1.down"});
  CHECK(events[5].event == Event{Seconds(0.02), std::nullopt, Failure{DeviceId::none(), Seconds(0.03)}});
  CHECK(events[7].event == Event{Seconds(0), 6, Jitter{0, 0}});
  CHECK(events[8].event == Event{Seconds(0.03), std::nullopt, MemoryLimit{DeviceId::none(), Bytes(8) * (1 << 30)}});
  CHECK(events[9].names == Names{"node*.nic.up"});
  CHECK(events[10].event == Event{Seconds(0), 2, MicrobatchWork{{1.0, 0.5, 2.25}}});
  CHECK(events[10].names == Names{"work.csv"});
  CHECK(events[11].event == Event{Seconds(0), 8, ModelChange{1}});
  CHECK(events[11].names == Names{"model_toy.yaml"});
  CHECK(events[12].event == Event{Seconds(0), 9, SizeChange{16}});
  CHECK(events[12].names.empty());
  CHECK(events[13].event == Event{Seconds(0.05), std::nullopt, Departure{DeviceId::none(), Seconds(3600)}});
  CHECK(events[13].names == Names{"gpu1"});
  CHECK(events[14].event == Event{Seconds(0), 10, LinkFailure{LinkId::none(), Seconds(0.015)}});
  CHECK(events[14].names == Names{"node1.nic"});
}

TEST_CASE("events file: devices are found by name, order and times stay") {
  const Platform platform = platform_of("platform_two_nodes.yaml");
  const Events events =
      resolve_events(parsed("{at: 3 s, device: gpu3, slowdown: 2}, {at: 1 s, device: gpu1, fails_for: "
                            "4 s}, {at_microbatch: 5, jitter: {sigma: 0.1, seed: 7}}"),
                     platform);
  const Events expected = {{Seconds(3), std::nullopt, Slowdown{DeviceId(3), 2}, 0},
                           {Seconds(1), std::nullopt, Failure{DeviceId(1), Seconds(4)}, 1},
                           {Seconds(0), 5, Jitter{0.1, 7}, 2}};
  CHECK(events == expected);
}

TEST_CASE("events file: a link by its name, by its name without direction, and between two devices") {
  const Platform two_nodes = platform_of("platform_two_nodes.yaml");
  CHECK(links_of("gpu1.down", two_nodes) == Names{"gpu1.down"});
  CHECK(links_of("gpu1", two_nodes) == Names{"gpu1.up", "gpu1.down"});
  CHECK(links_of("node1.nic", two_nodes) == Names{"node1.nic.up", "node1.nic.down"});
  // Both links of a way within a node are equally narrow; between nodes the NICs are the narrowest.
  CHECK(links_of("[gpu0, gpu1]", two_nodes) == Names{"gpu0.up", "gpu1.down", "gpu1.up", "gpu0.down"});
  CHECK(links_of("[gpu3, gpu0]", two_nodes) ==
        Names{"node1.nic.up", "node0.nic.down", "node0.nic.up", "node1.nic.down"});
  const Platform wired = platform_of("platform_explicit.yaml");
  CHECK(links_of("[gpu0, gpu1]", wired) == Names{"gpu0->gpu1", "gpu1->gpu0"});
  CHECK(links_of("gpu1->gpu0", wired) == Names{"gpu1->gpu0"});
  CHECK(links_of("[gpu2, gpu0]", wired) == Names{"pcie0"});  // half duplex: one link for both
  CHECK(links_of("pcie0", wired) == Names{"pcie0"});
}

TEST_CASE("events file: a star selects many links or devices") {
  const Platform two_nodes = platform_of("platform_two_nodes.yaml");
  CHECK(links_of("node*.nic", two_nodes) == Names{"node0.nic.up", "node0.nic.down", "node1.nic.up", "node1.nic.down"});
  CHECK(links_of("node*.nic.up", two_nodes) == Names{"node0.nic.up", "node1.nic.up"});
  CHECK(links_of("'*2*'", two_nodes) == Names{"gpu2.up", "gpu2.down"});
  CHECK_THROWS_WITH_AS(static_cast<void>(links_of("rack*.nic", two_nodes)),
                       doctest::Contains("has no link whose name matches 'rack*.nic'"), InputError);
  const Events events =
      resolve_events(parsed("{at: 0 s, device: gpu0, slowdown: 2}, {at: 1 s, device: '*', slowdown: 3}"), two_nodes);
  REQUIRE(events.size() == 1 + two_nodes.devices.size());
  for (DeviceId device : indices(two_nodes.devices)) {
    CHECK(events[1 + device.value()] == Event{Seconds(1), std::nullopt, Slowdown{device, 3}, 1});
  }
}

TEST_CASE("events file: a node's name and a star select its devices") {
  const Platform two_nodes = platform_of("platform_two_nodes.yaml");
  const auto devices_of = [&](const std::string& name, const Platform& platform) {
    std::vector<std::size_t> devices;
    for (const Event& event : resolve_events(parsed("{at: 0 s, device: " + name + ", fails_for: 1 s}"), platform)) {
      devices.push_back(std::get<Failure>(event.change).device.value());
    }
    return devices;
  };
  using Devices = std::vector<std::size_t>;
  CHECK(devices_of("node1.*", two_nodes) == Devices{2, 3});
  CHECK(devices_of("node*.gpu0", two_nodes) == Devices{0});
  CHECK(devices_of("node1.gpu3", two_nodes) == Devices{3});
  CHECK(devices_of("node*", two_nodes) == Devices{0, 1, 2, 3});
  const Platform named = platform_of("platform_named_nodes.yaml");  // node a has the devices 0 and 2, b has 1 and 3
  CHECK(devices_of("a.*", named) == Devices{0, 2});
  CHECK(devices_of("b.b1", named) == Devices{3});
  CHECK(devices_of("'*1'", named) == Devices{2, 3});
  CHECK_THROWS_WITH_AS(static_cast<void>(devices_of("node0.*", named)),
                       doctest::Contains("its devices are 'a.a0' to 'b.b1'"), InputError);
  for (const std::string name : {"node2.*", "node1.gpu0*", "node.*"}) {
    CAPTURE(name);
    try {
      static_cast<void>(devices_of(name, two_nodes));
      FAIL("nothing is called so");
    } catch (const InputError& error) {
      CHECK(error.message().find("has no device whose name matches '" + name + "'") != std::string::npos);
      CHECK(error.hint() == "its devices are 'node0.gpu0' to 'node1.gpu3'");
      CHECK(error.place().line == 2);
      CHECK(error.place().column > 1);
    }
  }
  CHECK_THROWS_WITH_AS(static_cast<void>(devices_of("node0.gpu3", two_nodes)),
                       doctest::Contains("has no device 'node0.gpu3'"), InputError);
  const Platform wired = platform_of("platform_explicit.yaml");  // without nodes
  CHECK_THROWS_AS(static_cast<void>(devices_of("node0.*", wired)), InputError);
}

TEST_CASE("events file: memory that a device has not is refused") {
  const Platform platform = platform_of("platform_explicit.yaml");
  const Bytes most = platform.memory(DeviceId(1));
  const auto limit = [&](Bytes memory) {
    return resolve_events(parsed("{at: 0 s, device: gpu1, memory: " + std::to_string(memory.value()) + " B}"),
                          platform);
  };
  CHECK(limit(most) == Events{{Seconds(0), std::nullopt, MemoryLimit{DeviceId(1), most}, 0}});
  CHECK_THROWS_WITH_AS(static_cast<void>(limit(most + Bytes(1))), doctest::Contains("so it cannot have"), InputError);
}

TEST_CASE("events file: devices without a way between them have no link to change") {
  const Platform platform = build_platform(
      parse_platform("schema: stagecraft/platform/1\nplatform: apart\ndevice_kinds: {A: {memory: 1 GiB}}\ndevices:\n"
                     "  - {name: a, kind: A}\n  - {name: b, kind: A}\n  - {name: c, kind: A}\n"
                     "links:\n  - {between: [a, b], bandwidth: 1 GBps, latency: 0 s}\n  - {name: spare, bandwidth: 1 "
                     "GBps, latency: 0 s}\n",
                     "p.yaml"));
  CHECK(links_of("spare", platform) == Names{"spare.forward", "spare.reverse"});
  CHECK_THROWS_WITH_AS(static_cast<void>(links_of("[a, c]", platform)),
                       doctest::Contains("the devices 'a' and 'c' are not connected"), InputError);
}

TEST_CASE("events file: the same events serve several platforms, and name what one of them lacks") {
  const std::vector<NamedEvent> events = parsed("{at: 0 s, device: gpu3, slowdown: 2}");
  CHECK(resolve_events(events, platform_of("platform_two_nodes.yaml")).size() == 1);
  CHECK_THROWS_WITH_AS(static_cast<void>(resolve_events(events, platform_of("platform_explicit.yaml"))),
                       doctest::Contains("e.yaml:2:28: events[0].device: the platform 'explicit' has no device 'gpu3'"),
                       InputError);
}
