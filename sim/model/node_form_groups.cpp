#include "sim/model/node_form_groups.hpp"

#include "sim/base/error.hpp"
#include "sim/model/nics.hpp"

#include <algorithm>
#include <set>
#include <variant>

namespace stagecraft {
namespace {

/// Of a thing that neighbouring devices share: how many members of a group use the same one, and how many groups do.
struct SharedThing {
  std::uint32_t members = 1;
  std::uint32_t groups = 1;
};

/// None if the members of some group use unequal parts of such things.
std::optional<SharedThing> shared_by_groups(std::uint64_t devices, std::uint32_t size) {
  if (size % devices == 0) return SharedThing{static_cast<std::uint32_t>(devices), 1};
  if (devices % size == 0) return SharedThing{size, static_cast<std::uint32_t>(devices / size)};
  return std::nullopt;
}

/// What is left of a link to each of those that use it at the same time.
LinkSpec divided(LinkSpec link, std::uint32_t users) {
  link.bandwidth = link.bandwidth / users;
  return link;
}

std::optional<PcieNode> tree_of_groups(PcieNode tree, std::uint32_t devices, std::uint32_t size) {
  const auto of_switch = shared_by_groups(std::min(tree.devices_per_switch, devices), size);
  if (!of_switch) return std::nullopt;
  const std::uint64_t in_socket = std::uint64_t{tree.devices_per_switch} * tree.switches_per_socket;
  tree.devices_per_switch = of_switch->groups;
  tree.uplink = divided(tree.uplink, of_switch->members);
  if (in_socket == 0 || in_socket >= devices) {
    tree.switches_per_socket = 0;
    return tree;
  }
  const auto of_socket = shared_by_groups(in_socket, size);
  if (!of_socket) return std::nullopt;
  tree.switches_per_socket = of_socket->groups / of_switch->groups;
  tree.socket_link = divided(tree.socket_link, of_socket->members);
  return tree;
}

/// A node that is one group needs no links between devices, unless its devices take them elsewhere.
bool divide_interconnect(NodeKind& kind, std::uint32_t size) {
  if (!kind.interconnect) return true;
  auto& shape = kind.interconnect->shape;
  if (auto* tree = std::get_if<PcieNode>(&shape)) {
    const auto of_groups = tree_of_groups(*tree, kind.device_count, size);
    if (of_groups) *tree = *of_groups;
    return of_groups.has_value();
  }
  if (std::holds_alternative<RingNode>(shape) || std::holds_alternative<CubeMeshNode>(shape)) {
    if (kind.device_count != size) return false;
    kind.interconnect.reset();
  }
  return true;
}

bool divide_host(NodeKind& kind, std::uint32_t size) {
  if (!kind.host) return true;
  HostSpec& host = *kind.host;
  host.memory = Bytes(host.memory.value() / size);
  if (!host.link) return true;
  const auto shared = shared_by_groups(std::min(host.shared_by, kind.device_count), size);
  if (!shared) return false;
  host.link = divided(*host.link, shared->members);
  host.shared_by = shared->groups;
  return true;
}

std::optional<SharedThing> sharers_of_nic(const NodeKind& whole, std::uint32_t size) {
  return shared_by_groups(whole.nic->per_device ? whole.nic->shared_by : whole.device_count, size);
}

bool divide_nic(NodeKind& kind, const NodeKind& whole, std::uint32_t size) {
  if (!kind.nic) return true;
  const auto shared = sharers_of_nic(whole, size);
  if (!shared) return false;
  kind.nic->link = divided(kind.nic->link, shared->members);
  if (kind.nic->per_device) kind.nic->shared_by = shared->groups;
  return true;
}

/// Makes the way to a NIC that has become a group's own a part of the NIC, as such a NIC has no way before it.
void include_way_to_nic(NodeKind& kind, WayToNic way) {
  if (way == way_to_nic(kind)) return;
  STAGECRAFT_CHECK(way_to_nic(kind) == WayToNic::None, "groups have the way of their members to a NIC, or none");
  LinkSpec& nic = kind.nic->link;
  const auto include = [&](const LinkSpec& link) {
    nic.bandwidth = std::min(nic.bandwidth, link.bandwidth);
    nic.latency += link.latency;
  };
  include(kind.interconnect->link);
  if (way == WayToNic::Tree) include(std::get<PcieNode>(kind.interconnect->shape).uplink);
}

std::optional<NodeKind> kind_of_groups(const NodeKind& whole, std::uint32_t size) {
  if (whole.device_count % size != 0) return std::nullopt;
  NodeKind kind = whole;
  if (!divide_interconnect(kind, size) || !divide_host(kind, size) || !divide_nic(kind, whole, size)) {
    return std::nullopt;
  }
  kind.device_count /= size;
  if (kind.nic) include_way_to_nic(kind, way_to_nic(whole));
  return kind;
}

/// The bandwidth of the NICs of the widest of some nodes.
BytesPerSecond widest_nics(const NodeForm& form) {
  BytesPerSecond widest(0);
  for (const NodeGroup& group : form.groups) widest = std::max(widest, nics_bandwidth(form.node_kinds[group.kind]));
  return widest;
}

/// The uplinks of a tree are as wide as the nodes below ask for: a port says how wide these are where their NICs have
/// become narrower than a part of what they were.
FatTreeNetwork tree_of_groups(FatTreeNetwork tree, const NodeForm& whole, const NodeForm& groups, std::uint32_t size) {
  constexpr double kRounding = 1e-12;
  for (FatTreeLevel& level : tree.levels) level.uplinks = std::max(level.uplinks / size, 1U);
  if (tree.port) {
    tree.port = divided(*tree.port, size);
  } else if (const BytesPerSecond part = widest_nics(whole) / size; widest_nics(groups) < part * (1 - kRounding)) {
    tree.port = LinkSpec{part, Seconds(0)};
  }
  return tree;
}

/// How many members of a group have a NIC of the same number; none if that depends on the kind of node.
std::optional<std::uint32_t> members_on_a_rail(const NodeForm& whole, std::uint32_t size) {
  std::set<std::uint32_t> members;
  for (const NodeGroup& group : whole.groups) {
    const NodeKind& kind = whole.node_kinds[group.kind];
    if (kind.nic) members.insert(sharers_of_nic(kind, size).value().members);
  }
  if (members.size() > 1) return std::nullopt;
  return members.empty() ? 1 : *members.begin();
}

/// All members cross the network at the same time, on the same way, unless their NICs have switches of their own.
std::optional<Network> network_of_groups(const NodeForm& whole, const NodeForm& groups, std::uint32_t size) {
  if (const auto* tree = std::get_if<FatTreeNetwork>(&whole.network)) {
    return tree_of_groups(*tree, whole, groups, size);
  }
  Network network = whole.network;
  if (auto* switched = std::get_if<SwitchedNetwork>(&network)) {
    if (switched->port) switched->port = divided(*switched->port, size);
  } else if (auto* full = std::get_if<FullNetwork>(&network)) {
    full->link = divided(full->link, size);
  } else if (auto* torus = std::get_if<TorusNetwork>(&network)) {
    torus->link = divided(torus->link, size);
  } else if (auto* dragonfly = std::get_if<DragonflyNetwork>(&network)) {
    dragonfly->local_link = divided(dragonfly->local_link, size);
    dragonfly->global_link = divided(dragonfly->global_link, size);
  } else if (auto* rails = std::get_if<RailsNetwork>(&network)) {
    const auto members = members_on_a_rail(whole, size);
    if (!members) return std::nullopt;
    if (rail_count(groups) == 1) return SwitchedNetwork{};  // nothing goes from one rail to another
    rails->uplink = divided(rails->uplink, *members);
  }
  return network;
}

}  // namespace

std::optional<NodeForm> form_of_groups(const NodeForm& whole, std::uint32_t size) {
  NodeForm form = whole;
  for (const NodeGroup& group : whole.groups) {
    std::optional<NodeKind> kind = kind_of_groups(whole.node_kinds[group.kind], size);
    if (!kind) return std::nullopt;
    form.node_kinds[group.kind] = *std::move(kind);
  }
  std::optional<Network> network = network_of_groups(whole, form, size);
  if (!network) return std::nullopt;
  form.network = *std::move(network);
  return form;
}

}  // namespace stagecraft
