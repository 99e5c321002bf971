#include "planners/shared/costs/alike_devices.hpp"

#include <cstdint>
#include <variant>

namespace stagecraft {
namespace {

/// Whether names of nodes say nothing, and no link differs from what the platform's file says.
bool has_plain_network(const Platform& platform) {
  const auto* form = std::get_if<NodeForm>(&platform.spec.form);
  if (form == nullptr || platform.members != nullptr) return false;
  const bool is_plain = platform.nodes.size() == 1 || std::holds_alternative<SwitchedNetwork>(form->network) ||
                        std::holds_alternative<FullNetwork>(form->network);
  return is_plain && build_platform(platform.spec).links == platform.links;
}

const NodeKind& kind_of(const Platform& platform, const Node& node) {
  return std::get<NodeForm>(platform.spec.form).node_kinds[node.kind];
}

/// Whether a device of the node and the one before it have equal ways to all others.
bool has_ways_of_last(const NodeKind& kind, std::uint32_t device) {
  if (!kind.interconnect) return false;
  const auto& shape = kind.interconnect->shape;
  if (std::holds_alternative<SwitchedNode>(shape) || std::holds_alternative<FullNode>(shape)) return true;
  const auto* tree = std::get_if<PcieNode>(&shape);
  if (tree == nullptr) return false;
  const std::uint32_t on_switch = tree->devices_per_switch;
  if (device % on_switch != 0) return true;
  return on_switch == 1 && (tree->switches_per_socket == 0 || device % tree->switches_per_socket != 0);
}

bool is_equal(const Device& a, const Device& b) {
  return a.kind == b.kind && a.slowdown == b.slowdown && a.memory == b.memory;
}

/// Whether two devices of equal ways have the same links, or each its own. A NIC is of no use to a single node.
bool is_alike(const Platform& platform, const NodeKind& kind, const Device& a, const Device& b) {
  const bool has_same_nic = platform.nodes.size() == 1 || a.nic == b.nic;
  const bool has_own_host_link = !kind.host || kind.host->shared_by == 1;
  return is_equal(a, b) && has_same_nic && (has_own_host_link || a.to_host == b.to_host);
}

/// The node's runs, without what is alike among them.
NodeRuns runs_of(const Platform& platform, const Node& node) {
  const NodeKind& kind = kind_of(platform, node);
  NodeRuns runs{{1}};
  for (std::uint32_t i = 1; i < kind.device_count; ++i) {
    const DeviceId device(node.first_device.value() + i);
    const DeviceId last(device.value() - 1);
    if (has_ways_of_last(kind, i) && is_alike(platform, kind, platform.devices[last], platform.devices[device])) {
      ++runs.sizes.back();
    } else {
      runs.sizes.push_back(1);
    }
  }
  return runs;
}

/// Whether a run of the node is a switch of a PCIe tree that is like the run before it, on the same socket.
bool is_switch_like_last(const Platform& platform, const Node& node, std::uint32_t first, std::size_t size) {
  const NodeKind& kind = kind_of(platform, node);
  const auto* tree = kind.interconnect ? std::get_if<PcieNode>(&kind.interconnect->shape) : nullptr;
  if (tree == nullptr || tree->devices_per_switch != size || first % size != 0 || first < size) return false;
  if (tree->switches_per_socket != 0 && first / size % tree->switches_per_socket == 0) return false;
  for (std::uint32_t i = first; i < first + size; ++i) {
    const DeviceId device(node.first_device.value() + i);
    const DeviceId other(node.first_device.value() + i - static_cast<std::uint32_t>(size));
    if (!is_alike(platform, kind, platform.devices[other], platform.devices[device])) return false;
  }
  return true;
}

void compare_switches(const Platform& platform, const Node& node, NodeRuns& runs) {
  std::uint32_t first = 0;
  for (std::size_t run = 0; run < runs.sizes.size(); ++run) {
    const bool is_like = run > 0 && runs.sizes[run] == runs.sizes[run - 1] &&
                         is_switch_like_last(platform, node, first, runs.sizes[run]);
    runs.are_like_last.push_back(is_like ? 1 : 0);
    first += static_cast<std::uint32_t>(runs.sizes[run]);
  }
}

bool is_alike(const Platform& platform, const Node& a, const Node& b) {
  const NodeKind& kind = kind_of(platform, a);
  if (a.kind != b.kind) return false;
  for (std::uint32_t i = 0; i < kind.device_count; ++i) {
    const Device& of_a = platform.devices[DeviceId(a.first_device.value() + i)];
    const Device& of_b = platform.devices[DeviceId(b.first_device.value() + i)];
    if (!is_equal(of_a, of_b)) return false;
  }
  return true;
}

}  // namespace

std::vector<NodeRuns> alike_devices(const Platform& platform) {
  if (!has_plain_network(platform)) return std::vector<NodeRuns>(platform.devices.size(), NodeRuns{{1}, false});
  std::vector<NodeRuns> nodes;
  const Node* last = nullptr;
  for (const Node& node : platform.nodes) {
    NodeRuns& runs = nodes.emplace_back(runs_of(platform, node));
    runs.is_like_last = last != nullptr && is_alike(platform, *last, node);
    compare_switches(platform, node, runs);
    last = &node;
  }
  return nodes;
}

}  // namespace stagecraft
