#include "planners/dapple/placement.hpp"

#include <algorithm>

namespace stagecraft::dapple {
namespace {

/// The unused devices of each node that is already in use (`in_use`), or of each node that is not.
std::vector<Node> free_devices(const std::vector<Node>& nodes, const Used& used, bool in_use) {
  std::vector<Node> result;
  for (const Node& node : nodes) {
    Node free;
    for (DeviceId device : node) {
      if (!used[device.value()]) free.push_back(device);
    }
    if (!free.empty() && (free.size() < node.size()) == in_use) result.push_back(std::move(free));
  }
  return result;
}

void take_in_order(const std::vector<Node>& nodes, std::size_t count, std::vector<DeviceId>& taken) {
  for (const Node& node : nodes) {
    for (DeviceId device : node) {
      if (taken.size() < count) taken.push_back(device);
    }
  }
}

void take_in_turn(const std::vector<Node>& nodes, std::size_t count, std::vector<DeviceId>& taken) {
  for (std::size_t turn = 0; taken.size() < count; ++turn) {
    bool any = false;
    for (const Node& node : nodes) {
      if (turn >= node.size()) continue;
      any = true;
      if (taken.size() < count) taken.push_back(node[turn]);
    }
    if (!any) return;
  }
}

}  // namespace

std::vector<DeviceId> place(Policy policy, const std::vector<Node>& nodes, const Used& used, std::size_t count) {
  const std::vector<Node> fresh = free_devices(nodes, used, false);
  const std::vector<Node> begun = free_devices(nodes, used, true);
  const bool fresh_first = policy == Policy::FreshFirst;
  std::vector<DeviceId> taken;
  for (const std::vector<Node>* free : {fresh_first ? &fresh : &begun, fresh_first ? &begun : &fresh}) {
    if (policy == Policy::ScatterFirst) {
      take_in_turn(*free, count, taken);
    } else {
      take_in_order(*free, count, taken);
    }
  }
  std::ranges::sort(taken);
  return taken;
}

}  // namespace stagecraft::dapple
