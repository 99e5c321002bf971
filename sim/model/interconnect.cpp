#include "sim/model/interconnect.hpp"

#include "sim/base/error.hpp"
#include "sim/model/link_row.hpp"
#include "sim/model/nics.hpp"

#include <algorithm>

namespace stagecraft {

// No table says which links a node has or which of them a route takes. The links of a node lie in rows (`LinkRow`), and
// the number of a link in its row follows from the devices by arithmetic: the device itself where devices hang on
// switches, the end from which it leads on where they form a ring, `pair_index` where all pairs are linked, and in a
// cube mesh first the six pairs of one quad, then the six of the other, then the four across. The functions `add_…`
// write rows; `cross_…`, `climb_…` and `descend_…` read them.
//
// **Invariant**: writers and readers count alike, pairs in the order of `linked_pairs`, and forward is from the first
// device of a pair to the second. A row begins at the link that is added next, and all its links are added before
// another row begins.

namespace {

using DevicePair = std::pair<std::uint32_t, std::uint32_t>;

constexpr std::uint32_t kQuad = 4;  ///< devices in each half of the cube mesh
constexpr std::uint32_t kQuadPairs = 6;

std::vector<DevicePair> all_pairs(std::uint32_t first, std::uint32_t count) {
  std::vector<DevicePair> pairs;
  for (std::uint32_t a = 0; a < count; ++a) {
    for (std::uint32_t b = a + 1; b < count; ++b) pairs.emplace_back(first + a, first + b);
  }
  return pairs;
}

std::vector<DevicePair> ring_pairs(std::uint32_t count) {
  if (count < 2) return {};
  if (count == 2) return {{0, 1}};
  std::vector<DevicePair> pairs;
  for (std::uint32_t i = 0; i < count; ++i) pairs.emplace_back(i, (i + 1) % count);
  return pairs;
}

std::vector<DevicePair> cube_mesh_pairs() {
  std::vector<DevicePair> pairs = all_pairs(0, kQuad);
  for (const DevicePair& pair : all_pairs(kQuad, kQuad)) pairs.push_back(pair);
  for (std::uint32_t i = 0; i < kQuad; ++i) pairs.emplace_back(i, i + kQuad);
  return pairs;
}

bool is_doubled(const CubeMeshNode& mesh, const DevicePair& pair) {
  return std::ranges::any_of(mesh.doubled, [&](const DevicePair& doubled) {
    return doubled == pair || DevicePair{doubled.second, doubled.first} == pair;
  });
}

std::uint32_t socket_of(const PcieNode& tree, std::uint32_t pcie_switch) {
  return tree.switches_per_socket == 0 ? 0 : pcie_switch / tree.switches_per_socket;
}

const std::string& device_name(const Platform& platform, const Node& node, std::uint32_t device) {
  return platform.devices[DeviceId(node.first_device.value() + device)].name;
}

void add_device_links(Platform& platform, const NodeKind& kind, const Node& node) {
  for (std::uint32_t i = 0; i < kind.device_count; ++i) {
    const std::string name = device_name(platform, node, i);
    add_link(platform, kind.interconnect->link, up_and_down(name, name + ".link"));
  }
}

void add_pair_links(Platform& platform, const NodeKind& kind, const Node& node) {
  const auto* mesh = std::get_if<CubeMeshNode>(&kind.interconnect->shape);
  for (const DevicePair& pair : linked_pairs(*kind.interconnect, kind.device_count)) {
    LinkSpec link = kind.interconnect->link;
    if (mesh != nullptr && is_doubled(*mesh, pair)) link.bandwidth = 2.0 * link.bandwidth;
    add_link(platform, link,
             between(device_name(platform, node, pair.first), device_name(platform, node, pair.second)));
  }
}

void add_tree_links(Platform& platform, const NodeKind& kind, const PcieNode& tree, Node& node) {
  const std::string node_name = name_of(NodeId(platform.nodes.size()));
  const LinkSpec& device_link = kind.interconnect->link;
  node.uplinks = begin_row(platform, tree.uplink);
  for (std::uint32_t s = 0; s < switch_count(tree, kind.device_count); ++s) {
    const std::string name = node_name + ".switch" + std::to_string(s);
    const BytesPerSecond below = devices_under(tree, kind.device_count, s) * device_link.bandwidth;
    add_link(platform, tree.uplink, up_and_down(name, name), {below, below});
  }
  node.sockets = begin_row(platform, tree.socket_link);
  for (const auto& [a, b] : all_pairs(0, socket_count(tree, kind.device_count))) {
    const std::string first = node_name + ".socket" + std::to_string(a);
    add_link(platform, tree.socket_link, between(first, node_name + ".socket" + std::to_string(b)));
  }
}

/// The route in a cube mesh: first inside the sender's quad, then across to the other quad.
void cross_mesh(const Platform& platform, const LinkRow& row, std::uint32_t from, std::uint32_t to, Route& into) {
  const std::uint32_t half = from / kQuad;
  const std::uint32_t corner = half * kQuad + to % kQuad;  // of the sender's four, opposite the receiver or itself
  if (from != corner) {
    const std::uint32_t low = std::min(from, corner) % kQuad;
    const std::uint32_t high = std::max(from, corner) % kQuad;
    const std::uint32_t pair = half * kQuadPairs + pair_index(low, high, kQuad);
    cross(platform, from < corner ? row.forward(pair) : row.backward(pair), into);
  }
  if (corner != to) {
    const std::uint32_t across = 2 * kQuadPairs + to % kQuad;
    cross(platform, corner < to ? row.forward(across) : row.backward(across), into);
  }
}

void cross_ring(const Platform& platform, const LinkRow& row, std::uint32_t from, std::uint32_t to, std::uint32_t count,
                Route& into) {
  // Two devices have one link, not one each way round: only device 0 begins a pair.
  const bool forward = count == 2 ? from == 0 : is_forward_shorter(from, to, count);
  while (from != to) {
    const std::uint32_t next = forward ? (from + 1) % count : (from + count - 1) % count;
    cross(platform, forward ? row.forward(from) : row.backward(next), into);
    from = next;
  }
}

void cross_tree(const Platform& platform, const NodeKind& kind, const Node& node, std::uint32_t from, std::uint32_t to,
                Route& into) {
  const auto& tree = std::get<PcieNode>(kind.interconnect->shape);
  const std::uint32_t source = from / tree.devices_per_switch;
  const std::uint32_t target = to / tree.devices_per_switch;
  cross(platform, node.interconnect.forward(from), into);
  if (source != target) {
    cross(platform, node.uplinks.forward(source), into);
    const std::uint32_t leaves = socket_of(tree, source);
    const std::uint32_t enters = socket_of(tree, target);
    if (leaves != enters) {
      cross_pair(platform, node.sockets, leaves, enters, socket_count(tree, kind.device_count), into);
    }
    cross(platform, node.uplinks.backward(target), into);
  }
  cross(platform, node.interconnect.backward(to), into);
}

const PcieNode* tree_of(const NodeKind& kind) {
  return kind.interconnect ? std::get_if<PcieNode>(&kind.interconnect->shape) : nullptr;
}

}  // namespace

std::vector<DevicePair> linked_pairs(const Interconnect& interconnect, std::uint32_t device_count) {
  if (std::holds_alternative<FullNode>(interconnect.shape)) return all_pairs(0, device_count);
  if (std::holds_alternative<RingNode>(interconnect.shape)) return ring_pairs(device_count);
  if (std::holds_alternative<CubeMeshNode>(interconnect.shape)) return cube_mesh_pairs();
  return {};
}

std::uint32_t switch_count(const PcieNode& tree, std::uint32_t device_count) {
  return divide_up(device_count, tree.devices_per_switch);
}

std::uint32_t devices_under(const PcieNode& tree, std::uint32_t device_count, std::uint32_t pcie_switch) {
  return std::min(tree.devices_per_switch, device_count - pcie_switch * tree.devices_per_switch);
}

std::uint32_t socket_count(const PcieNode& tree, std::uint32_t device_count) {
  return socket_of(tree, switch_count(tree, device_count) - 1) + 1;
}

std::uint64_t count_links(const Interconnect& interconnect, std::uint32_t device_count) {
  const std::uint64_t n = device_count;
  const std::uint64_t each = directions(interconnect.link);
  if (std::holds_alternative<FullNode>(interconnect.shape)) return each * (n * (n - 1) / 2);
  if (const auto* tree = std::get_if<PcieNode>(&interconnect.shape)) {
    const std::uint64_t sockets = socket_count(*tree, device_count);
    return each * n + directions(tree->uplink) * switch_count(*tree, device_count) +
           directions(tree->socket_link) * (sockets * (sockets - 1) / 2);
  }
  if (std::holds_alternative<SwitchedNode>(interconnect.shape)) return each * n;
  return each * linked_pairs(interconnect, device_count).size();
}

void add_interconnect_links(Platform& platform, const NodeKind& kind, Node& node) {
  if (!kind.interconnect) return;
  node.interconnect = begin_row(platform, kind.interconnect->link);
  const auto* tree = tree_of(kind);
  if (tree != nullptr || std::holds_alternative<SwitchedNode>(kind.interconnect->shape)) {
    add_device_links(platform, kind, node);
  } else {
    add_pair_links(platform, kind, node);
  }
  if (tree != nullptr) add_tree_links(platform, kind, *tree, node);
}

void cross_interconnect(const Platform& platform, const NodeKind& kind, const Node& node, std::uint32_t from,
                        std::uint32_t to, Route& into) {
  const LinkRow& row = node.interconnect;
  const auto& shape = kind.interconnect->shape;
  if (std::holds_alternative<SwitchedNode>(shape)) {
    cross(platform, row.forward(from), into);
    cross(platform, row.backward(to), into);
  } else if (std::holds_alternative<FullNode>(shape)) {
    cross_pair(platform, row, from, to, kind.device_count, into);
  } else if (std::holds_alternative<RingNode>(shape)) {
    cross_ring(platform, row, from, to, kind.device_count, into);
  } else if (std::holds_alternative<CubeMeshNode>(shape)) {
    cross_mesh(platform, row, from, to, into);
  } else {
    cross_tree(platform, kind, node, from, to, into);
  }
}

std::uint32_t attachment(const Interconnect& interconnect, std::uint32_t device) {
  if (const auto* tree = std::get_if<PcieNode>(&interconnect.shape)) return device / tree->devices_per_switch;
  return std::holds_alternative<CubeMeshNode>(interconnect.shape) ? device : 0;
}

void climb_to_host(const Platform& platform, const NodeKind& kind, const Node& node, std::uint32_t device,
                   Route& into) {
  const auto& tree = std::get<PcieNode>(kind.interconnect->shape);
  cross(platform, node.interconnect.forward(device), into);
  cross(platform, node.uplinks.forward(device / tree.devices_per_switch), into);
}

void descend_from_host(const Platform& platform, const NodeKind& kind, const Node& node, std::uint32_t device,
                       Route& into) {
  const auto& tree = std::get<PcieNode>(kind.interconnect->shape);
  cross(platform, node.uplinks.backward(device / tree.devices_per_switch), into);
  cross(platform, node.interconnect.backward(device), into);
}

void climb_to_nic(const Platform& platform, const NodeKind& kind, const Node& node, std::uint32_t device, Route& into) {
  const WayToNic way = way_to_nic(kind);
  if (way == WayToNic::OwnLink) cross(platform, node.interconnect.forward(device), into);
  if (way == WayToNic::Tree) climb_to_host(platform, kind, node, device, into);
}

void descend_from_nic(const Platform& platform, const NodeKind& kind, const Node& node, std::uint32_t device,
                      Route& into) {
  const WayToNic way = way_to_nic(kind);
  if (way == WayToNic::OwnLink) cross(platform, node.interconnect.backward(device), into);
  if (way == WayToNic::Tree) descend_from_host(platform, kind, node, device, into);
}

BytesPerSecond smallest_bandwidth_inside(const Interconnect& interconnect, std::uint32_t device_count) {
  STAGECRAFT_CHECK(device_count > 1, "a pair of devices");
  BytesPerSecond smallest = interconnect.link.bandwidth;
  if (const auto* tree = std::get_if<PcieNode>(&interconnect.shape)) {
    if (switch_count(*tree, device_count) > 1) smallest = std::min(smallest, tree->uplink.bandwidth);
    if (socket_count(*tree, device_count) > 1) smallest = std::min(smallest, tree->socket_link.bandwidth);
  }
  if (const auto* mesh = std::get_if<CubeMeshNode>(&interconnect.shape)) {
    // One pair that is not doubled is enough to be the narrowest.
    const bool all_doubled =
        std::ranges::all_of(cube_mesh_pairs(), [&](const DevicePair& pair) { return is_doubled(*mesh, pair); });
    if (all_doubled) smallest = 2.0 * smallest;
  }
  return smallest;
}

}  // namespace stagecraft
