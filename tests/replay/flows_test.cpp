// Random transfers over every topology, against the fluid model worked out by its definition on all links of all
// routes: transfers that come and go, have links to themselves or meet, and links that the replay leaves out.
#include "sim/analytic/shared_ends.hpp"
#include "tests/model/topologies.hpp"
#include "tests/replay/fluid.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

using test::built;
using test::FluidTransfer;
using test::link_of;
using test::nodes_of;

std::vector<FluidTransfer> random_transfers(std::uint32_t devices, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<FluidTransfer> transfers;
  for (int i = 0; i < 60; ++i) {
    FluidTransfer transfer;
    transfer.from = static_cast<std::uint32_t>(random() % devices);
    transfer.to = (transfer.from + 1 + static_cast<std::uint32_t>(random() % (devices - 1))) % devices;
    transfer.start = static_cast<double>(random() % 12);  // several at once
    transfer.bytes = 1 + static_cast<std::int64_t>(random() % 2'000'000'000);
    transfers.push_back(transfer);
  }
  return transfers;
}

struct Topology {
  std::string name;
  Platform platform;
  bool leaves_out = false;  ///< some link can never be the bottleneck
};

std::vector<Topology> all_topologies() {
  const LinkSpec one = link_of(1e9, 0.125);
  const LinkSpec wide = link_of(4e9);
  const LinkSpec half = link_of(1e9, 0.125, Duplex::Half);
  const auto node = [&](decltype(Interconnect::shape) shape, const LinkSpec& link) {
    return built(nodes_of(1, 8, Interconnect{std::move(shape), link}));
  };
  const auto cluster = [&](Network network, const NicSpec& nic, std::uint32_t nodes = 8) {
    return built(nodes_of(nodes, 2, Interconnect{SwitchedNode{}, one}, std::move(network), nic));
  };
  const NicSpec per_device{one, true};
  const NicSpec per_node{half, false};
  const auto tree = [](double oversubscription, std::uint32_t uplinks) {
    return FatTreeNetwork{{{2, oversubscription, uplinks, Seconds(0)}, {2, 1.0, 1, Seconds(0)}}, std::nullopt};
  };
  const PcieNode narrow_pcie{2, one, 2, half};
  const PcieNode wide_pcie{2, wide, 2, one};
  return {
      {"switched node", node(SwitchedNode{}, one)},
      {"full node", node(FullNode{}, half)},
      {"ring node", node(RingNode{}, one)},
      {"cube mesh", node(CubeMeshNode{{{0, 3}}}, one)},
      {"narrow PCIe", node(narrow_pcie, one)},
      {"wide PCIe", node(wide_pcie, one), true},
      {"switched network", cluster(SwitchedNetwork{}, per_device)},
      {"narrow ports", cluster(SwitchedNetwork{one}, per_device)},
      {"wide ports", cluster(SwitchedNetwork{wide}, per_device), true},
      {"narrow full network", cluster(FullNetwork{half}, per_device)},
      {"wide full network", cluster(FullNetwork{wide}, per_node), true},
      {"torus", cluster(TorusNetwork{{4, 2}, one}, per_device)},
      {"fat tree", cluster(tree(1.0, 1), per_device), true},
      {"oversubscribed fat tree", cluster(tree(2.0, 2), per_device, 13)},
      {"dragonfly", cluster(DragonflyNetwork{2, 2, one, one}, per_device)},
      {"dragonfly of wide links", cluster(DragonflyNetwork{2, 2, one, link_of(64e9)}, per_node), true},
  };
}

void check_ends(const std::vector<double>& ends, const std::vector<double>& expected) {
  REQUIRE(ends.size() == expected.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    CAPTURE(i);
    CHECK(ends[i] == doctest::Approx(expected[i]).epsilon(1e-9));
  }
}

TEST_CASE("replay: random transfers over every topology end when the fluid model says") {
  for (const Topology& topology : all_topologies()) {
    CAPTURE(topology.name);
    Platform every_link = topology.platform;
    std::size_t spare = 0;
    for (Link& link : every_link.links) {
      if (link.bandwidth >= link.load_limit) ++spare;
      link.load_limit = BytesPerSecond(std::numeric_limits<double>::infinity());
    }
    if (topology.leaves_out) CHECK(spare > 0);
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
      CAPTURE(seed);
      const auto devices = static_cast<std::uint32_t>(topology.platform.devices.size());
      const std::vector<FluidTransfer> transfers = random_transfers(devices, seed);
      const std::vector<double> ends = test::replayed_ends(topology.platform, transfers);
      check_ends(ends, test::expected_ends(topology.platform, transfers));
      check_ends(ends, test::replayed_ends(every_link, transfers));
    }
  }
}

TEST_CASE("shared ends: random transfers over every topology end as in the replay") {
  for (const Topology& topology : all_topologies()) {
    CAPTURE(topology.name);
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
      CAPTURE(seed);
      const auto devices = static_cast<std::uint32_t>(topology.platform.devices.size());
      const std::vector<FluidTransfer> transfers = random_transfers(devices, seed);
      std::vector<TimedTransfer> timed;
      for (const FluidTransfer& transfer : transfers) {
        timed.push_back({PlaceId(transfer.from), PlaceId(transfer.to), Bytes(transfer.bytes), Seconds(transfer.start)});
      }
      std::vector<double> ends;
      for (const Seconds end : shared_ends(topology.platform, timed)) ends.push_back(end.value());
      check_ends(ends, test::replayed_ends(topology.platform, transfers));
    }
  }
}

// A quarter is of class 1 and a quarter of class 2: they rest while a smaller class uses a link of theirs.
TEST_CASE("replay: random transfers of three classes over every topology end when the fluid model says") {
  for (const Topology& topology : all_topologies()) {
    CAPTURE(topology.name);
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
      CAPTURE(seed);
      const auto devices = static_cast<std::uint32_t>(topology.platform.devices.size());
      std::vector<FluidTransfer> transfers = random_transfers(devices, seed);
      for (std::size_t i = 30; i < transfers.size(); ++i) transfers[i].transfer_class = i < 45 ? 1 : 2;
      check_ends(test::replayed_ends(topology.platform, transfers), test::expected_ends(topology.platform, transfers));
    }
  }
}

/// Failures of links that the transfers cross, each of less than 3 s, on a grid on which nothing else lies.
Events random_failures(const Platform& platform, const std::vector<FluidTransfer>& transfers, std::uint32_t seed) {
  std::mt19937 random(seed);
  Events failures;
  Route route;
  for (int i = 0; i < 20; ++i) {
    const FluidTransfer& over = transfers[random() % transfers.size()];
    REQUIRE(find_route(platform, PlaceId(over.from), PlaceId(over.to), route));
    const LinkId link = route.links[random() % route.links.size()];
    const Seconds at(static_cast<double>(random() % 20'000) / 1009.0);
    failures.push_back({at, std::nullopt, LinkFailure{link, Seconds(static_cast<double>(random() % 3000) / 1013.0)}});
  }
  return failures;
}

TEST_CASE("replay: random transfers over links that fail end when the fluid model says") {
  for (const Topology& topology : all_topologies()) {
    CAPTURE(topology.name);
    for (std::uint32_t seed = 1; seed <= 4; ++seed) {
      CAPTURE(seed);
      const auto devices = static_cast<std::uint32_t>(topology.platform.devices.size());
      std::vector<FluidTransfer> transfers = random_transfers(devices, seed);
      for (std::size_t i = 30; i < transfers.size() && seed % 2 == 0; ++i) transfers[i].transfer_class = i < 45 ? 1 : 2;
      const Events failures = random_failures(topology.platform, transfers, seed);
      const std::vector<double> expected = test::expected_ends(topology.platform, transfers, failures);
      CHECK(expected != test::expected_ends(topology.platform, transfers));
      check_ends(test::replayed_ends(topology.platform, transfers, failures), expected);
    }
  }
}

}  // namespace
}  // namespace stagecraft
