// Random transfers over every topology, against the fluid model worked out by its definition on all links of all
// routes: transfers that come and go, have links to themselves or meet, and links that the replay leaves out.
#include "tests/model/topologies.hpp"
#include "tests/replay/runs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

using test::built;
using test::link_of;
using test::nodes_of;

struct Transfer {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  double start = 0.0;
  std::int64_t bytes = 0;
};

/// A transfer between its first byte and its last.
struct Fluid {
  std::vector<LinkId> links;
  double begin = 0.0;
  double left = 0.0;
  double rate = 0.0;
  double end = -1.0;
};

/// Max-min fair rates by progressive filling: the link that has least for each of its undecided flows decides theirs.
void share(const Platform& platform, std::vector<Fluid*> flows) {
  std::vector<double> free;
  for (const Link& link : platform.links) free.push_back(link.bandwidth.value());
  while (!flows.empty()) {
    std::vector<double> wanted(free.size());
    for (const Fluid* flow : flows) {
      for (LinkId link : flow->links) ++wanted[link.value()];
    }
    double least = std::numeric_limits<double>::infinity();
    std::size_t tightest = 0;
    for (std::size_t link = 0; link < free.size(); ++link) {
      if (wanted[link] == 0.0 || free[link] / wanted[link] >= least) continue;
      least = free[link] / wanted[link];
      tightest = link;
    }
    std::erase_if(flows, [&](Fluid* flow) {
      if (std::ranges::find(flow->links, LinkId(tightest)) == flow->links.end()) return false;
      flow->rate = least;
      for (LinkId link : flow->links) free[link.value()] -= least;
      return true;
    });
  }
}

/// When each transfer ends, by letting the fluid run from one start or end to the next.
std::vector<double> expected_ends(const Platform& platform, const std::vector<Transfer>& transfers) {
  std::vector<Fluid> fluids;
  Route route;
  for (const Transfer& transfer : transfers) {
    REQUIRE(find_route(platform, PlaceId(transfer.from), PlaceId(transfer.to), route));
    fluids.push_back({route.links, transfer.start + route.latency.value(), static_cast<double>(transfer.bytes)});
  }
  double now = 0.0;
  for (;;) {
    std::vector<Fluid*> flowing;
    double next = std::numeric_limits<double>::infinity();
    for (Fluid& fluid : fluids) {
      if (fluid.end >= 0.0) continue;
      if (fluid.begin > now) next = std::min(next, fluid.begin);
      if (fluid.begin <= now) flowing.push_back(&fluid);
    }
    share(platform, flowing);
    for (const Fluid* fluid : flowing) next = std::min(next, now + fluid->left / fluid->rate);
    if (next == std::numeric_limits<double>::infinity()) break;
    for (Fluid* fluid : flowing) {
      const bool ends = now + fluid->left / fluid->rate <= next * (1 + 1e-14);
      fluid->left -= fluid->rate * (next - now);
      if (ends) fluid->end = next;
    }
    now = next;
  }
  std::vector<double> ends;
  for (const Fluid& fluid : fluids) ends.push_back(fluid.end);
  return ends;
}

std::vector<Transfer> random_transfers(std::uint32_t devices, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Transfer> transfers;
  for (int i = 0; i < 60; ++i) {
    Transfer transfer;
    transfer.from = static_cast<std::uint32_t>(random() % devices);
    transfer.to = (transfer.from + 1 + static_cast<std::uint32_t>(random() % (devices - 1))) % devices;
    transfer.start = static_cast<double>(random() % 12);  // several at once
    transfer.bytes = 1 + static_cast<std::int64_t>(random() % 2'000'000'000);
    transfers.push_back(transfer);
  }
  return transfers;
}

std::vector<double> replayed_ends(const Platform& platform, const std::vector<Transfer>& transfers) {
  test::Work work(static_cast<std::uint32_t>(platform.devices.size()));
  std::vector<OpId> ids;
  for (const Transfer& transfer : transfers) {
    const OpId wait = work.delay(transfer.start);
    ids.push_back(work.send(transfer.from, transfer.to, transfer.bytes, {wait}));
  }
  const test::Times times = test::replayed(platform, work);
  std::vector<double> ends;
  for (OpId id : ids) ends.push_back(times.at(id).second);
  return ends;
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
      const std::vector<Transfer> transfers = random_transfers(devices, seed);
      const std::vector<double> expected = expected_ends(topology.platform, transfers);
      const std::vector<double> ends = replayed_ends(topology.platform, transfers);
      const std::vector<double> without_leaving_out = replayed_ends(every_link, transfers);
      for (std::size_t i = 0; i < transfers.size(); ++i) {
        CHECK(ends[i] == doctest::Approx(expected[i]).epsilon(1e-9));
        CHECK(ends[i] == doctest::Approx(without_leaving_out[i]).epsilon(1e-9));
      }
    }
  }
}

}  // namespace
}  // namespace stagecraft
