#include "sim/model/platform.hpp"

#include "sim/base/error.hpp"
#include "sim/model/interconnect.hpp"
#include "sim/model/link_row.hpp"
#include "sim/model/network.hpp"
#include "sim/model/nics.hpp"
#include "sim/model/platform_explicit.hpp"

namespace stagecraft {

// A platform in the node form is built node by node, then its network. A node does not list its links. It notes where
// its rows begin, and `find_route` computes a route from these when it is asked for one. So a platform takes memory for
// its links, but not for the routes between all pairs of devices.
//
// **Invariant**: devices, links and nodes are numbered in the order in which they are added. The devices of a node are
// consecutive. While its parts are added, a node is not yet in the list of nodes, so that the size of the list is its
// own number, from which come names such as `node1.nic`. The network comes last, since the width of its links and what
// can load them may follow from the NICs of the nodes. `count_links` counts the same links without making them, so that
// a reader can refuse a file before it takes that memory.

namespace {

void add_devices(Platform& platform, const NodeKind& kind, const Node& node) {
  const NodeId node_id(platform.nodes.size());
  for (std::uint32_t i = 0; i < kind.device_count; ++i) {
    Device device{"gpu" + std::to_string(platform.devices.size()),
                  kind.device_kind,
                  node_id,
                  node.host,
                  LinkId::none(),
                  LinkId::none()};
    if (kind.nic) device.nic = nic_of(kind, i);
    platform.devices.push_back(std::move(device));
  }
}

void add_nics(Platform& platform, const NodeKind& kind, Node& node) {
  if (!kind.nic) return;
  node.nics = begin_row(platform, kind.nic->link);
  const std::string node_nic = name_of(NodeId(platform.nodes.size())) + ".nic";
  for (std::uint32_t i = 0; i < nic_count(kind); ++i) {
    std::string name = node_nic;
    if (kind.nic->per_device) {
      name = kind.nic->shared_by == 1 ? platform.devices[DeviceId(node.first_device.value() + i)].name + ".nic"
                                      : node_nic + std::to_string(i);
    }
    add_link(platform, kind.nic->link, up_and_down(name, name));
  }
}

void add_host_links(Platform& platform, const NodeKind& kind, const Node& node) {
  if (!kind.host) return;
  if (!kind.host->link) {
    STAGECRAFT_CHECK(kind.interconnect && std::holds_alternative<PcieNode>(kind.interconnect->shape),
                     "a host link, or a PCIe tree to the host");
    return;
  }
  const LinkRow row = begin_row(platform, *kind.host->link);
  for (std::uint32_t i = 0; i < kind.device_count; ++i) {
    const std::uint32_t shared = i / kind.host->shared_by;
    if (i % kind.host->shared_by == 0) {
      const std::string name = platform.hosts[node.host].name + ".link" + std::to_string(shared);
      add_link(platform, *kind.host->link, up_and_down(name, name));
    }
    Device& device = platform.devices[DeviceId(node.first_device.value() + i)];
    device.to_host = row.forward(shared);
    device.from_host = row.backward(shared);
  }
}

void add_node(Platform& platform, NodeKindId kind_id, const NodeKind& kind) {
  Node node;
  node.kind = kind_id;
  node.first_device = DeviceId(platform.devices.size());
  node.host = HostId::none();
  if (kind.host) {
    node.host = platform.hosts.push_back({"host" + std::to_string(platform.hosts.size()), kind.host->memory});
  }
  add_devices(platform, kind, node);
  add_interconnect_links(platform, kind, node);
  add_nics(platform, kind, node);
  add_host_links(platform, kind, node);
  platform.nodes.push_back(node);
}

void build_nodes(Platform& platform, const NodeForm& form) {
  for (const NodeGroup& group : form.groups) {
    for (std::uint32_t i = 0; i < group.count; ++i) add_node(platform, group.kind, form.node_kinds[group.kind]);
  }
  add_network_links(platform, form);
}

std::uint64_t links_of_node(const NodeKind& kind) {
  const auto directions = [](const LinkSpec& link) { return link.duplex == Duplex::Half ? 1U : 2U; };
  std::uint64_t count = 0;
  if (kind.interconnect) count += count_links(*kind.interconnect, kind.device_count);
  if (kind.nic) count += std::uint64_t{directions(kind.nic->link)} * nic_count(kind);
  if (kind.host && kind.host->link) {
    count += std::uint64_t{directions(*kind.host->link)} * divide_up(kind.device_count, kind.host->shared_by);
  }
  return count;
}

}  // namespace

std::string name_of(NodeId node) { return "node" + std::to_string(node.value()); }

IndexVector<NodeId, std::string> node_names(const Platform& platform) {
  if (const auto* form = std::get_if<ExplicitForm>(&platform.spec.form)) return form->nodes;
  IndexVector<NodeId, std::string> names;
  for (NodeId node : indices(platform.nodes)) names.push_back(name_of(node));
  return names;
}

std::uint64_t count_links(const NodeForm& form) {
  std::uint64_t count = 0;
  std::uint32_t nodes = 0;
  for (const NodeGroup& group : form.groups) {
    count += group.count * links_of_node(form.node_kinds[group.kind]);
    nodes += group.count;
  }
  return count + count_network_links(form, nodes);
}

Platform build_platform(PlatformSpec spec) {
  Platform platform;
  platform.spec = std::move(spec);
  if (const auto* nodes = std::get_if<NodeForm>(&platform.spec.form)) {
    build_nodes(platform, *nodes);
  } else {
    build_explicit(platform, std::get<ExplicitForm>(platform.spec.form));
  }
  return platform;
}

const char* type_name(const Interconnect& interconnect) {
  if (std::holds_alternative<SwitchedNode>(interconnect.shape)) return "switch";
  if (std::holds_alternative<FullNode>(interconnect.shape)) return "full";
  if (std::holds_alternative<RingNode>(interconnect.shape)) return "ring";
  if (std::holds_alternative<CubeMeshNode>(interconnect.shape)) return "cube-mesh";
  return "pcie";
}

const char* type_name(const Network& network) {
  if (std::holds_alternative<SwitchedNetwork>(network)) return "switch";
  if (std::holds_alternative<FullNetwork>(network)) return "full";
  if (const auto* torus = std::get_if<TorusNetwork>(&network)) return torus->sizes.size() == 1 ? "ring" : "torus";
  if (std::holds_alternative<FatTreeNetwork>(network)) return "fat-tree";
  if (std::holds_alternative<RailsNetwork>(network)) return "rails";
  return "dragonfly";
}

}  // namespace stagecraft
