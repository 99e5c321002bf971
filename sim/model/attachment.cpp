#include "sim/model/attachment.hpp"

#include "sim/model/interconnect.hpp"
#include "sim/model/network.hpp"

#include <map>
#include <utility>

namespace stagecraft {
namespace {

using Devices = std::vector<DeviceId>;

/// Of each class of the devices the first one, and the first one that is apart from it.
template <typename Class, typename Apart>
Devices two_of_each(const Devices& devices, Class class_of, Apart are_apart) {
  std::map<decltype(class_of(DeviceId{})), Devices> kept;
  for (DeviceId device : devices) {
    Devices& alike = kept[class_of(device)];
    if (alike.empty() || (alike.size() == 1 && are_apart(alike.front(), device))) alike.push_back(device);
  }
  Devices result;
  for (const auto& [_, alike] : kept) result.insert(result.end(), alike.begin(), alike.end());
  return result;
}

void add_pairs(SmallestBandwidth& smallest, const Platform& platform, const Devices& a, const Devices& b, PairUse use) {
  for (DeviceId one : a) {
    for (DeviceId other : b) smallest.add_both_ways(platform, one, other, use);
  }
}

/// Two in different nodes of each class that is alike to the devices of other nodes.
Devices representatives_in_network(const Platform& platform, const NodeForm& form, const Devices& devices) {
  const auto class_of = [&](DeviceId device) {
    const NodeId node = platform.devices[device].node;
    return std::pair(platform.nodes[node].kind, attachment(platform, form, device));
  };
  return two_of_each(devices, class_of, [&](DeviceId one, DeviceId other) {
    return platform.devices[one].node != platform.devices[other].node;
  });
}

/// Two of each class that is alike to the other devices of the node.
Devices representatives_in_node(const Platform& platform, const NodeForm& form, NodeId id, const Devices& devices) {
  const Node& node = platform.nodes[id];
  const std::optional<Interconnect>& inside = form.node_kinds[node.kind].interconnect;
  const auto class_of = [&](DeviceId device) {
    return inside ? attachment(*inside, device.value() - node.first_device.value()) : 0;
  };
  return two_of_each(devices, class_of, [](DeviceId one, DeviceId other) { return one != other; });
}

std::map<NodeId, Devices> by_node(const Platform& platform, const Devices& devices) {
  std::map<NodeId, Devices> nodes;
  for (DeviceId device : devices) nodes[platform.devices[device].node].push_back(device);
  return nodes;
}

}  // namespace

std::optional<SmallestBandwidth> smallest_bandwidth_by_attachment(const Platform& platform, const Devices& a,
                                                                  const Devices& b, PairUse use) {
  const auto* form = std::get_if<NodeForm>(&platform.spec.form);
  if (form == nullptr) return std::nullopt;
  SmallestBandwidth smallest;
  add_pairs(smallest, platform, representatives_in_network(platform, *form, a),
            representatives_in_network(platform, *form, b), use);
  const std::map<NodeId, Devices> nodes_of_b = by_node(platform, b);
  for (const auto& [node, in_a] : by_node(platform, a)) {
    const auto in_b = nodes_of_b.find(node);
    if (in_b == nodes_of_b.end()) continue;
    add_pairs(smallest, platform, representatives_in_node(platform, *form, node, in_a),
              representatives_in_node(platform, *form, node, in_b->second), use);
  }
  return smallest;
}

}  // namespace stagecraft
