// Who gives what several devices hold to those that lack it.
#include "sim/schedule/lowering/givers.hpp"

#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <vector>

namespace stagecraft {
namespace {

using Devices = std::vector<DeviceId>;

/// So many nodes of as many devices each, on paper.
Platform nodes_of(std::size_t nodes, std::size_t each) {
  Platform platform;
  for (std::size_t i = 0; i < nodes * each; ++i) {
    Device device;
    device.node = NodeId(i / each);
    platform.devices.push_back(device);
  }
  return platform;
}

Devices devices(std::vector<std::size_t> numbers) {
  Devices list;
  for (std::size_t number : numbers) list.emplace_back(number);
  return list;
}

}  // namespace

TEST_CASE("givers: without nodes receivers take the holders in turn") {
  const Platform platform = testing::pairwise(8, 1e9, 0.0);
  CHECK(givers(platform, devices({4, 1, 6}), devices({0, 2, 3, 5, 7})) == devices({4, 1, 6, 4, 1}));
  CHECK(givers(platform, devices({4, 1, 6}), devices({0})) == devices({4}));
}

TEST_CASE("givers: a holder in the receiver's node is preferred, whatever the order") {
  const Platform platform = nodes_of(3, 4);
  CHECK(givers(platform, devices({0, 4}), devices({8, 1})) == devices({4, 0}));
  // Node 0 has three receivers for one holder, which gives to no more than its share, two.
  CHECK(givers(platform, devices({0, 4}), devices({1, 2, 3})) == devices({0, 0, 4}));
}

TEST_CASE("givers: receivers elsewhere take holders of different nodes in turn") {
  CHECK(givers(nodes_of(3, 4), devices({0, 1, 4, 5}), devices({8, 9, 10, 11})) == devices({0, 4, 1, 5}));
}

TEST_CASE("givers: no holder gives to more than its share, and as many as can get it in their node do") {
  std::mt19937 random(20261128);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t nodes = 1 + random() % 4;
    const std::size_t each = 2 + random() % 4;
    const Platform platform = nodes_of(nodes, each);
    std::vector<std::size_t> all(nodes * each);
    std::iota(all.begin(), all.end(), 0);
    std::ranges::shuffle(all, random);
    const auto held = static_cast<std::ptrdiff_t>(1 + random() % (all.size() - 1));
    const Devices holders = devices({all.begin(), all.begin() + held});
    const Devices receivers = devices({all.begin() + held, all.end()});
    const Devices found = givers(platform, holders, receivers);
    REQUIRE(found.size() == receivers.size());
    std::map<DeviceId, std::size_t> given;
    std::map<NodeId, std::size_t> inside;
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(std::ranges::count(holders, found[i]) == 1);
      ++given[found[i]];
      const NodeId node = platform.devices[receivers[i]].node;
      if (platform.devices[found[i]].node == node) ++inside[node];
    }
    const std::size_t share = (receivers.size() + holders.size() - 1) / holders.size();
    for (const auto& [holder, count] : given) CHECK(count <= share);
    for (std::size_t n = 0; n < nodes; ++n) {
      const auto in_node = [&](DeviceId device) { return platform.devices[device].node == NodeId(n); };
      const auto holders_there = static_cast<std::size_t>(std::ranges::count_if(holders, in_node));
      const auto receivers_there = static_cast<std::size_t>(std::ranges::count_if(receivers, in_node));
      CHECK(inside[NodeId(n)] == std::min(receivers_there, holders_there * share));
    }
  }
}

}  // namespace stagecraft
