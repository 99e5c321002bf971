// Platforms from networks of ASTRA-sim's analytical backends.
#include "sim/io/import_astra_network.hpp"

#include "sim/io/platform_file.hpp"
#include "sim/model/platform.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft::import_astra_network_test {
namespace {

constexpr double kGiga = 1 << 30;

/// A network in ASTRA-sim's format.
struct Written {
  std::vector<std::string> shapes;
  std::vector<int> counts;
  std::vector<double> bandwidths;  ///< GB/s
  std::vector<double> latencies;   ///< ns

  [[nodiscard]] std::string text() const {
    std::string all = "topology: [";
    for (const std::string& shape : shapes) all += " " + shape + ",";
    return all + "]\n" + list("npus_count", counts) + list("bandwidth", bandwidths) + list("latency", latencies);
  }

  template <class T>
  static std::string list(const std::string& key, const std::vector<T>& values) {
    std::string all = key + ": [";
    for (const T& value : values) all += " " + std::to_string(value) + ",";
    return all + "]\n";
  }

  /// By dimension, the links that a message from one NPU to another crosses.
  [[nodiscard]] std::vector<int> hops(int a, int b) const {
    std::vector<int> result;
    for (std::size_t d = 0; d < shapes.size(); ++d) {
      const int around = (b % counts[d] - a % counts[d] + counts[d]) % counts[d];
      a /= counts[d];
      b /= counts[d];
      if (around == 0) {
        result.push_back(0);
      } else if (shapes[d] == "Ring") {
        result.push_back(std::min(around, counts[d] - around));
      } else {
        result.push_back(shapes[d] == "Switch" ? 2 : 1);
      }
    }
    return result;
  }

  [[nodiscard]] int npus() const {
    int all = 1;
    for (const int count : counts) all *= count;
    return all;
  }
};

PlatformSpec platform_of(const Written& network) {
  DeviceKind kind;
  kind.name = "A";
  kind.memory = Bytes(1 << 30);
  const AstraNetwork parsed = parse_astra_network(network.text(), "x");
  REQUIRE(is_astra_platform(parsed));
  const PlatformSpec spec = astra_platform(parsed, "x", kind).spec;
  CHECK(parse_platform(write_platform(spec), "written") == spec);
  return spec;
}

Interconnect interconnect_of(const std::string& shape, int count) {
  const PlatformSpec spec = platform_of({{shape}, {count}, {50}, {500}});
  return *std::get<NodeForm>(spec.form).node_kinds[NodeKindId(0)].interconnect;
}

}  // namespace

TEST_CASE("import astra-sim-network: one dimension is a node; a gigabyte is 2^30 bytes") {
  const LinkSpec link{BytesPerSecond(50 * kGiga), Seconds(500e-9)};
  CHECK(interconnect_of("Ring", 8) == Interconnect{RingNode{}, link});
  CHECK(interconnect_of("Ring", 2) == Interconnect{FullNode{}, link});
  CHECK(interconnect_of("FullyConnected", 8) == Interconnect{FullNode{}, link});
  CHECK(interconnect_of("Switch", 8) == Interconnect{SwitchedNode{}, link});
}

TEST_CASE("import astra-sim-network: a second dimension of switches are the NICs of nodes") {
  const PlatformSpec spec = platform_of({{"FullyConnected", "Switch"}, {8, 1000}, {400, 50}, {100, 2000}});
  const auto& form = std::get<NodeForm>(spec.form);
  CHECK(form.groups.front().count == 1000);
  CHECK(form.network == Network{SwitchedNetwork{}});
  CHECK(form.node_kinds[NodeKindId(0)].nic == NicSpec{{BytesPerSecond(50 * kGiga), Seconds(2000e-9)}, true, 1});
}

TEST_CASE("import astra-sim-network: remarks say which dimensions are inside a node") {
  const auto remarks = [](const Written& network) {
    return astra_platform(parse_astra_network(network.text(), "x"), "x", {}).remarks;
  };
  CHECK(remarks({{"Ring"}, {4}, {50}, {500}}).size() == 1);
  CHECK(remarks({{"Ring", "FullyConnected", "Switch"}, {4, 3, 2}, {50, 50, 50}, {500, 500, 500}}).back() ==
        "dimensions: inside a node Ring of 4; between nodes FullyConnected of 3, Switch of 2");
}

TEST_CASE("import astra-sim-network: what is neither is described up to a number of NPUs") {
  const auto is_described = [](const Written& network) {
    return is_astra_platform(parse_astra_network(network.text(), "x"));
  };
  CHECK(is_described({{"Ring", "Ring"}, {16, 16}, {50, 50}, {500, 500}}));
  CHECK_FALSE(is_described({{"Ring", "Ring"}, {16, 17}, {50, 50}, {500, 500}}));
}

TEST_CASE("import astra-sim-network: latency and narrowest link of every way of random networks are its dimensions'") {
  std::mt19937 random(3);
  const auto draw = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  const std::vector<std::string> shapes{"Ring", "FullyConnected", "Switch"};
  std::map<bool, int> forms;
  for (int round = 0; round < 60; ++round) {
    Written network;
    for (int d = draw(1, 3); d > 0; --d) {
      network.shapes.push_back(shapes[static_cast<std::size_t>(draw(0, 2))]);
      network.counts.push_back(draw(2, 5));
      network.bandwidths.push_back(draw(1, 9));
      network.latencies.push_back(draw(0, 9));
    }
    CAPTURE(network.text());
    const PlatformSpec spec = platform_of(network);
    const bool is_explicit = std::holds_alternative<ExplicitForm>(spec.form);
    ++forms[is_explicit];
    const Platform platform = build_platform(spec);
    REQUIRE(static_cast<int>(platform.devices.size()) == network.npus());
    for (int a = 0; a < network.npus(); ++a) {
      for (int b = 0; b < network.npus(); ++b) {
        const std::vector<int> hops = network.hops(a, b);
        const auto dimensions = std::ranges::count_if(hops, [](int count) { return count > 0; });
        // A NIC to one switch reaches NPUs of other rows at once.
        if (a == b || (!is_explicit && dimensions > 1)) continue;
        double latency = 0;
        double narrowest = 1e30;
        int links = 0;
        for (std::size_t d = 0; d < hops.size(); ++d) {
          latency += hops[d] * network.latencies[d] * 1e-9;
          links += hops[d];
          if (hops[d] > 0) narrowest = std::min(narrowest, network.bandwidths[d] * kGiga);
        }
        Route route;
        REQUIRE(find_route(platform, platform.place(DeviceId(static_cast<std::size_t>(a))),
                           platform.place(DeviceId(static_cast<std::size_t>(b))), route));
        CHECK(static_cast<int>(route.links.size()) == links);
        CHECK(route.latency.value() == doctest::Approx(latency));
        double found = 1e30;
        for (const LinkId link : route.links) found = std::min(found, platform.links[link].bandwidth.value());
        CHECK(found == narrowest);
      }
    }
  }
  CHECK(forms[true] > 15);
  CHECK(forms[false] > 15);
}

}  // namespace stagecraft::import_astra_network_test
