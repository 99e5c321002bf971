// Platforms from networks of SimAI.
#include "sim/io/import_simai_topo.hpp"

#include "sim/io/platform_file.hpp"
#include "sim/io/simai_platform.hpp"
#include "sim/model/platform.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft::import_simai_topo_test {
namespace {

/// A network in SimAI's format: GPUs, then NVSwitches, then switches.
struct Written {
  std::size_t gpus = 0;
  std::size_t per_server = 0;
  std::size_t nvswitches = 0;
  std::size_t switches = 0;
  std::vector<std::pair<std::size_t, std::size_t>> links = {};
  std::string lines = {};
  double bandwidths = 0;  ///< of all links, in bytes

  void link(std::size_t a, std::size_t b, int gigabits, const std::string& delay) {
    links.emplace_back(a, b);
    lines += std::to_string(a) + " " + std::to_string(b) + " " + std::to_string(gigabits) + "Gbps " + delay + " 0\n";
    bandwidths += gigabits * 1e9 / 8;
  }

  void link_nvswitches() {
    const std::size_t per_nvswitches = nvswitches / (gpus / per_server);
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
      for (std::size_t i = 0; i < per_nvswitches; ++i) {
        link(gpu, gpus + gpu / per_server * per_nvswitches + i, 1200, "0.000025ms");
      }
    }
  }

  [[nodiscard]] std::size_t leaf(std::size_t i) const { return gpus + nvswitches + i; }

  [[nodiscard]] std::string text() const {
    const std::size_t nodes = gpus + nvswitches + switches;
    std::string all = std::to_string(nodes) + " " + std::to_string(per_server) + " " + std::to_string(nvswitches) +
                      " " + std::to_string(switches) + " " + std::to_string(links.size()) + " H100\n";
    for (std::size_t id = gpus; id < nodes; ++id) all += std::to_string(id) + " ";
    return all + "\n" + lines;
  }
};

PlatformSpec platform_of(const Written& network) {
  DeviceKind kind;
  kind.name = "A";
  kind.memory = Bytes(1 << 30);
  const PlatformSpec spec = simai_platform(parse_simai_topo(network.text(), "x"), "x", kind).spec;
  CHECK(parse_platform(write_platform(spec), "written") == spec);
  return spec;
}

NodeForm nodes_of(const Written& network) { return std::get<NodeForm>(platform_of(network).form); }

const LinkSpec kNic{BytesPerSecond(12.5e9), Seconds(5e-7)};

}  // namespace

TEST_CASE("import simai-topo: rails below a spine of equal switches are rails of their bandwidth together") {
  Written network{16, 8, 4, 8 + 64};
  network.link_nvswitches();
  for (std::size_t gpu = 0; gpu < 16; ++gpu) network.link(gpu, network.leaf(gpu % 8), 100, "0.0005ms");
  for (std::size_t leaf = 0; leaf < 8; ++leaf) {
    for (std::size_t spine = 0; spine < 64; ++spine) {
      network.link(network.leaf(leaf), network.leaf(8 + spine), 400, "0.0005ms");
    }
  }
  const NodeForm form = nodes_of(network);
  const NodeKind& server = form.node_kinds[NodeKindId(0)];
  CHECK(server.device_count == 8);
  CHECK(form.groups.front().count == 2);
  CHECK(server.interconnect == Interconnect{SwitchedNode{}, {BytesPerSecond(2 * 150e9), Seconds(2.5e-8)}});
  CHECK(server.nic == NicSpec{kNic, true, 1});
  CHECK(form.network == Network{RailsNetwork{{BytesPerSecond(64 * 50e9), Seconds(5e-7)}}});
}

TEST_CASE("import simai-topo: one switch for all, and two that every GPU has") {
  for (const std::size_t count : {1U, 2U}) {
    Written network{12, 4, 3, count};
    network.link_nvswitches();
    for (std::size_t gpu = 0; gpu < 12; ++gpu) {
      for (std::size_t i = 0; i < count; ++i) network.link(gpu, network.leaf(i), 100, "0.0005ms");
    }
    const NodeForm form = nodes_of(network);
    CHECK(form.network == Network{SwitchedNetwork{}});
    const double times = static_cast<double>(count);
    CHECK(form.node_kinds[NodeKindId(0)].nic == NicSpec{{kNic.bandwidth * times, kNic.latency}, true, 1});
  }
}

TEST_CASE("import simai-topo: leaves of whole servers below a spine are a fat tree") {
  Written network{24, 4, 6, 3 + 2};
  network.link_nvswitches();
  for (std::size_t gpu = 0; gpu < 24; ++gpu) network.link(gpu, network.leaf(gpu / 8), 100, "0.0005ms");
  for (std::size_t leaf = 0; leaf < 3; ++leaf) {
    for (std::size_t spine = 0; spine < 2; ++spine) {
      network.link(network.leaf(leaf), network.leaf(3 + spine), 200, "0.0007ms");
    }
  }
  const PlatformSpec spec = platform_of(network);
  const double oversubscription = (8 * 100.0) / (2 * 200.0);
  CHECK(std::get<NodeForm>(spec.form).network ==
        Network{FatTreeNetwork{{{2, oversubscription, 1, Seconds(7e-7)}}, std::nullopt}});
  const Platform platform = build_platform(spec);
  Route route;
  REQUIRE(find_route(platform, platform.place(DeviceId(0)), platform.place(DeviceId(23)), route));
  CHECK(route.latency.value() == doctest::Approx(2 * 5e-7 + 2 * 7e-7));
  double narrowest = 1e30;
  for (const LinkId link : route.links) narrowest = std::min(narrowest, platform.links[link].bandwidth.value());
  CHECK(narrowest == 12.5e9);
}

TEST_CASE("import simai-topo: remarks on a network without a type say what is inside a node") {
  Written network{4, 2, 2, 2};
  network.link_nvswitches();
  for (std::size_t gpu = 0; gpu < 4; ++gpu) network.link(gpu, network.leaf(gpu == 0 ? 0 : 1), 100, "0.0005ms");
  network.link(network.leaf(0), network.leaf(1), 100, "0.0005ms");
  const TopoPlatform platform = simai_platform(parse_simai_topo(network.text(), "x"), "x", {});
  CHECK(std::holds_alternative<ExplicitForm>(platform.spec.form));
  CHECK(std::ranges::count(platform.remarks,
                           "nodes: the servers of the first line, 2 GPUs each; what leads to other servers is between "
                           "nodes") == 1);
}

TEST_CASE("import simai-topo: a single server, and GPUs without NVSwitch") {
  Written server{8, 8, 1, 0};
  server.link_nvswitches();
  CHECK_FALSE(nodes_of(server).node_kinds[NodeKindId(0)].nic);
  Written alone{5, 1, 0, 1};
  for (std::size_t gpu = 0; gpu < 5; ++gpu) alone.link(gpu, alone.leaf(0), 100, "0.0005ms");
  const NodeForm form = nodes_of(alone);
  CHECK(form.groups.front().count == 5);
  CHECK_FALSE(form.node_kinds[NodeKindId(0)].interconnect);
  CHECK(form.node_kinds[NodeKindId(0)].nic == NicSpec{kNic});
}

namespace {

/// The fewest links between two nodes that no other GPU lies between; none if they are not connected.
std::optional<std::size_t> distance(const Written& network, std::size_t from, std::size_t to) {
  std::vector<std::optional<std::size_t>> reached(network.gpus + network.nvswitches + network.switches);
  std::queue<std::size_t> next({from});
  reached[from] = 0;
  while (!next.empty()) {
    const std::size_t at = next.front();
    next.pop();
    if (at < network.gpus && at != from) continue;
    for (const auto& [a, b] : network.links) {
      if (a != at && b != at) continue;
      const std::size_t other = a == at ? b : a;
      if (reached[other]) continue;
      reached[other] = *reached[at] + 1;
      next.push(other);
    }
  }
  return reached[to];
}

Written random_network(std::mt19937& random) {
  const auto draw = [&](std::size_t least, std::size_t most) {
    return std::uniform_int_distribution(least, most)(random);
  };
  const std::size_t servers = draw(1, 3);
  const std::size_t size = draw(1, 4);
  Written network{servers * size, size, servers, draw(2, 5)};
  network.link_nvswitches();
  std::set<std::pair<std::size_t, std::size_t>> pairs;
  const auto add = [&](std::size_t a, std::size_t b) {
    if (a != b && pairs.insert(std::minmax(a, b)).second) {
      network.link(a, b, static_cast<int>(100 * draw(1, 2)), "0.0005ms");
    }
  };
  for (std::size_t gpu = 0; gpu < network.gpus; ++gpu) add(gpu, network.leaf(draw(0, network.switches - 1)));
  for (std::size_t i = 1; i < network.switches; ++i) add(network.leaf(i), network.leaf(draw(0, i - 1)));
  return network;
}

}  // namespace

TEST_CASE("import simai-topo: shortest ways and the sum of bandwidths of random networks are those of the file") {
  std::mt19937 random(5);
  int explicit_networks = 0;
  for (int round = 0; round < 300; ++round) {
    const Written network = random_network(random);
    CAPTURE(network.text());
    const PlatformSpec spec = platform_of(network);
    const auto* form = std::get_if<ExplicitForm>(&spec.form);
    if (form == nullptr) continue;
    ++explicit_networks;
    double bandwidths = 0;
    for (const ExplicitLink& link : form->links) bandwidths += link.link.bandwidth.value();
    CHECK(bandwidths == doctest::Approx(network.bandwidths).epsilon(1e-12));
    const Platform platform = build_platform(spec);
    for (std::size_t a = 0; a < network.gpus; ++a) {
      for (std::size_t b = 0; b < network.gpus; ++b) {
        if (a == b) continue;
        Route route;
        const auto expected = distance(network, a, b);
        REQUIRE(find_route(platform, platform.place(DeviceId(a)), platform.place(DeviceId(b)), route) ==
                expected.has_value());
        if (expected) CHECK(route.links.size() == *expected);
      }
    }
  }
  CHECK(explicit_networks > 150);
}

}  // namespace stagecraft::import_simai_topo_test
