#include "experiments/view/platform_words.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"
#include "sim/model/interconnect.hpp"
#include "sim/model/nics.hpp"

namespace stagecraft {
namespace {

/// `25 GBps (half duplex)`.
std::string link_words(const LinkSpec& link) {
  const bool is_half = link.duplex == Duplex::Half;
  const std::string duplex = is_half ? "half duplex" : "";
  const std::string sharing = link.sharing == Sharing::Exclusive ? "one transfer at a time" : "";
  const std::string unusual = duplex + (duplex.empty() || sharing.empty() ? "" : ", ") + sharing;
  return format_human_bandwidth(link.bandwidth) + (unusual.empty() ? "" : " (" + unusual + ")");
}

std::string pcie_words(const PcieNode& tree, const Interconnect& interconnect, std::uint32_t devices) {
  std::string text = "PCIe with a link of " + link_words(interconnect.link) + " for each device; " +
                     counted(tree.devices_per_switch, "device") + " to a switch, uplinks of " + link_words(tree.uplink);
  const std::uint32_t sockets = socket_count(tree, devices);
  if (sockets == 1) return text + "; one socket";
  return text + "; " + counted(tree.switches_per_socket, "switch") + " to a socket; " + std::to_string(sockets) +
         " sockets, links of " + link_words(tree.socket_link);
}

std::string interconnect_words(const Interconnect& interconnect, std::uint32_t devices) {
  const std::string link = link_words(interconnect.link);
  if (const auto* tree = std::get_if<PcieNode>(&interconnect.shape)) return pcie_words(*tree, interconnect, devices);
  if (const auto* mesh = std::get_if<CubeMeshNode>(&interconnect.shape)) {
    const std::string doubled = mesh->doubled.empty() ? "" : ", " + std::to_string(mesh->doubled.size()) + " doubled";
    return "a cube mesh of links of " + link + doubled;
  }
  if (std::holds_alternative<FullNode>(interconnect.shape)) return "a link of " + link + " for each pair";
  if (std::holds_alternative<RingNode>(interconnect.shape)) return "a ring of links of " + link;
  return "each with a link of " + link + " to a switch";
}

std::string host_words(const HostSpec& host) {
  const std::string memory = "host memory of " + format_human_bytes(host.memory);
  if (!host.link) return memory + ", over the PCIe tree";
  const std::string sharers =
      host.shared_by == 1 ? "each device" : "every " + std::to_string(host.shared_by) + " devices";
  return memory + ", a link of " + link_words(*host.link) + " for " + sharers;
}

std::string port_words(const std::optional<LinkSpec>& port) {
  return port ? ", a port of " + link_words(*port) + " for each node" : "";
}

std::string torus_words(const TorusNetwork& torus) {
  if (torus.sizes.size() == 1) return "a ring of links of " + link_words(torus.link);
  std::string sizes;
  for (std::uint32_t size : torus.sizes) sizes += (sizes.empty() ? "" : " x ") + std::to_string(size);
  return "a torus of " + sizes + ", links of " + link_words(torus.link);
}

std::string ratio_words(double ratio) {
  const bool is_even = ratio == 1.0;
  return is_even ? "not oversubscribed" : "oversubscribed " + short_number(ratio) + " : 1";
}

/// `level 1: 16 switches of 32 nodes, each with an uplink of 400 GBps, oversubscribed 2 : 1`.
std::string level_words(const Platform& platform, const FatTreeNetwork& tree, std::size_t i, std::uint64_t switches) {
  const FatTreeLevel& level = tree.levels[i];
  const std::string members = i == 0 ? "node" : "switch";
  std::string text = "\n  level " + std::to_string(i + 1) + ": " + counted(switches, "switch") + " of " +
                     counted(level.children, members);
  if (i >= platform.network.levels.size()) return text + ", the top of the tree";
  const Link& uplink = platform.links[platform.network.levels[i].forward(0)];
  const std::string uplinks = level.uplinks == 1 ? "an uplink" : std::to_string(level.uplinks) + " uplinks";
  return text + ", each with " + uplinks + " of " + format_human_bandwidth(uplink.bandwidth) + ", " +
         ratio_words(level.oversubscription);
}

std::string fat_tree_words(const Platform& platform, const FatTreeNetwork& tree) {
  std::string text = "a fat tree" + port_words(tree.port);
  std::uint64_t members = platform.nodes.size();
  double together = 1.0;
  for (std::size_t i = 0; i < tree.levels.size() && members > 1; ++i) {
    members = (members + tree.levels[i].children - 1) / tree.levels[i].children;
    text += level_words(platform, tree, i, members);
    if (members > 1) together *= tree.levels[i].oversubscription;
  }
  const bool has_several = platform.network.levels.size() > 1;
  if (has_several) text += "\n  all levels together: " + ratio_words(together);
  return text;
}

std::string dragonfly_words(const Platform& platform, const DragonflyNetwork& dragonfly) {
  const std::uint64_t of_group = std::uint64_t{dragonfly.nodes_per_router} * dragonfly.routers_per_group;
  const std::uint64_t groups = (platform.nodes.size() + of_group - 1) / of_group;
  return "a dragonfly of " + counted(groups, "group") + " of " + counted(dragonfly.routers_per_group, "router") +
         " of " + counted(dragonfly.nodes_per_router, "node") + "; a link of " + link_words(dragonfly.local_link) +
         " for each pair of routers in a group, a link of " + link_words(dragonfly.global_link) +
         " for each pair of groups";
}

std::string rails_words(const NodeForm& form, const RailsNetwork& rails) {
  return counted(rail_count(form), "rail") + ", each a leaf switch with an uplink of " + link_words(rails.uplink) +
         " to the spine";
}

}  // namespace

std::string node_kind_words(const PlatformSpec& spec, const NodeKind& kind) {
  std::string text = "  " + std::to_string(kind.device_count) + " x " + spec.device_kinds[kind.device_kind].name;
  if (kind.interconnect) {
    text += ", " + interconnect_words(*kind.interconnect, kind.device_count);
  } else if (kind.device_count > 1) {
    text += ", not connected inside the node";
  }
  if (kind.host) text += "\n  " + host_words(*kind.host);
  if (kind.nic) {
    std::string users = kind.nic->per_device ? "each device" : "the node";
    if (kind.nic->shared_by > 1) users = "every " + std::to_string(kind.nic->shared_by) + " devices";
    text += "\n  a NIC of " + link_words(kind.nic->link) + " for " + users;
  }
  return text;
}

std::string network_words(const Platform& platform) {
  const auto& form = std::get<NodeForm>(platform.spec.form);
  const Network& network = form.network;
  if (const auto* full = std::get_if<FullNetwork>(&network)) {
    return "a link of " + link_words(full->link) + " for each pair of nodes";
  }
  if (const auto* torus = std::get_if<TorusNetwork>(&network)) return torus_words(*torus);
  if (const auto* tree = std::get_if<FatTreeNetwork>(&network)) return fat_tree_words(platform, *tree);
  if (const auto* dragonfly = std::get_if<DragonflyNetwork>(&network)) return dragonfly_words(platform, *dragonfly);
  if (const auto* rails = std::get_if<RailsNetwork>(&network)) return rails_words(form, *rails);
  return "one switch that is never the bottleneck" + port_words(std::get<SwitchedNetwork>(network).port);
}

}  // namespace stagecraft
