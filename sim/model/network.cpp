#include "sim/model/network.hpp"

#include "sim/base/error.hpp"
#include "sim/model/dragonfly.hpp"
#include "sim/model/link_row.hpp"
#include "sim/model/nics.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

const std::optional<LinkSpec>& port_of(const Network& network) {
  static const std::optional<LinkSpec> kNone;
  if (const auto* switched = std::get_if<SwitchedNetwork>(&network)) return switched->port;
  if (const auto* tree = std::get_if<FatTreeNetwork>(&network)) return tree->port;
  return kNone;
}

/// The bandwidth at which each node can send, or receive.
using Widths = std::vector<BytesPerSecond>;

Widths nic_widths(const Platform& platform, const NodeForm& form) {
  Widths widths;
  for (const Node& node : platform.nodes) {
    widths.push_back(nics_bandwidth(form.node_kinds[node.kind]));
  }
  return widths;
}

/// Adds each node's port, which only the node's NICs load. `widths` becomes the bandwidth that passes it.
void add_ports(Platform& platform, const LinkSpec& port, Widths& widths) {
  platform.network.ports = begin_row(platform, port);
  for (std::uint32_t node = 0; node < widths.size(); ++node) {
    const std::string name = name_of(NodeId(node)) + ".port";
    add_link(platform, port, up_and_down(name, name), {widths[node], widths[node]});
    widths[node] = std::min(widths[node], port.bandwidth);
  }
}

void add_full_links(Platform& platform, const FullNetwork& network, const Widths& widths) {
  platform.network.wires = begin_row(platform, network.link);
  for (std::uint32_t a = 0; a < widths.size(); ++a) {
    for (std::uint32_t b = a + 1; b < widths.size(); ++b) {
      const BytesPerSecond most = std::min(widths[a], widths[b]);
      add_link(platform, network.link, between(name_of(NodeId(a)), name_of(NodeId(b))), {most, most});
    }
  }
}

/// The links of one dimension of a torus: one from each node to the next, but only one if there are just two nodes.
struct TorusDimension {
  std::uint32_t size = 1;
  std::uint32_t stride = 1;      ///< between neighbours
  std::uint32_t first_link = 0;  ///< in the row
  std::uint32_t link_count = 0;

  [[nodiscard]] std::uint32_t coordinate(std::uint32_t node) const { return node / stride % size; }
  [[nodiscard]] std::uint32_t moved(std::uint32_t node, std::uint32_t to) const {
    return node - coordinate(node) * stride + to * stride;
  }
  /// The link from a node to the next.
  [[nodiscard]] std::uint32_t link(std::uint32_t node) const {
    return first_link + (size == 2 ? node / (2 * stride) * stride + node % stride : node);
  }
};

std::vector<TorusDimension> dimensions(const TorusNetwork& torus, std::uint32_t node_count) {
  std::vector<TorusDimension> result;
  TorusDimension next;
  for (std::uint32_t size : torus.sizes) {
    next.size = size;
    next.link_count = size == 1 ? 0 : size == 2 ? node_count / 2 : node_count;
    result.push_back(next);
    next.stride *= size;
    next.first_link += next.link_count;
  }
  return result;
}

void add_torus_links(Platform& platform, const TorusNetwork& torus, std::uint32_t node_count) {
  platform.network.wires = begin_row(platform, torus.link);
  for (const TorusDimension& dimension : dimensions(torus, node_count)) {
    if (dimension.size == 1) continue;
    for (std::uint32_t node = 0; node < node_count; ++node) {
      const std::uint32_t at = dimension.coordinate(node);
      if (dimension.size == 2 && at == 1) continue;
      const std::uint32_t next = dimension.moved(node, (at + 1) % dimension.size);
      add_link(platform, torus.link, between(name_of(NodeId(node)), name_of(NodeId(next))));
    }
  }
}

void cross_torus(const Platform& platform, const TorusNetwork& torus, std::uint32_t from, std::uint32_t to,
                 Route& into) {
  const LinkRow& row = platform.network.wires;
  for (const TorusDimension& dimension : dimensions(torus, static_cast<std::uint32_t>(platform.nodes.size()))) {
    const std::uint32_t size = dimension.size;
    const std::uint32_t target = dimension.coordinate(to);
    std::uint32_t at = dimension.coordinate(from);
    if (at == target) continue;
    const bool forward = size == 2 ? at == 0 : is_forward_shorter(at, target, size);
    for (; at != target; from = dimension.moved(from, at)) {
      const std::uint32_t next = forward ? (at + 1) % size : (at + size - 1) % size;
      const std::uint32_t lower = forward ? from : dimension.moved(from, next);
      cross(platform, forward ? row.forward(dimension.link(lower)) : row.backward(dimension.link(lower)), into);
      at = next;
    }
  }
}

/// All switches of a level have the same bandwidth upwards, even if they have fewer or narrower children: `children`
/// times the widest child, divided by the oversubscription.
void add_fat_tree_links(Platform& platform, const FatTreeNetwork& tree, Widths below) {
  BytesPerSecond child_width = tree.port ? tree.port->bandwidth : *std::ranges::max_element(below);
  for (const FatTreeLevel& level : tree.levels) {
    const auto child_count = static_cast<std::uint32_t>(below.size());
    const std::uint32_t switches = divide_up(child_count, level.children);
    if (switches == 1) return;  // the only switch needs no uplinks
    const BytesPerSecond width = level.children * child_width / level.oversubscription;
    const LinkSpec uplink{width / level.uplinks, level.latency};
    const std::string level_name = "switch" + std::to_string(platform.network.levels.size() + 1) + ".";
    platform.network.levels.push_back(begin_row(platform, uplink));
    Widths above;
    for (std::uint32_t s = 0; s < switches; ++s) {
      const std::uint32_t first = s * level.children;
      BytesPerSecond sum(0);
      for (std::uint32_t c = first; c < std::min(first + level.children, child_count); ++c) sum += below[c];
      for (std::uint32_t u = 0; u < level.uplinks; ++u) {
        const std::string name =
            level_name + std::to_string(s) + (level.uplinks > 1 ? ".link" + std::to_string(u) : "");
        add_link(platform, uplink, up_and_down(name, name), {sum, sum});
      }
      above.push_back(std::min(sum, width));
    }
    below = std::move(above);
    child_width = width;
  }
}

/// Spreads pairs of devices over uplinks: the finaliser of SplitMix64.
/// **Source** G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
std::uint64_t hash_pair(std::uint32_t from, std::uint32_t to) {
  std::uint64_t x = ((std::uint64_t{from} << 32) | to) + 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// The route up to the first common switch and down again. On each level the pair's hash selects the uplink.
void cross_fat_tree(const Platform& platform, const FatTreeNetwork& tree, DeviceId sender, DeviceId receiver,
                    Route& into) {
  const std::uint64_t hash = hash_pair(sender.value(), receiver.value());
  std::uint32_t from = platform.devices[sender].node.value();
  std::uint32_t to = platform.devices[receiver].node.value();
  std::vector<LinkId> down;
  for (std::size_t i = 0; i < platform.network.levels.size(); ++i) {
    from /= tree.levels[i].children;
    to /= tree.levels[i].children;
    if (from == to) break;
    const LinkRow& row = platform.network.levels[i];
    const std::uint32_t uplinks = tree.levels[i].uplinks;
    const auto uplink = static_cast<std::uint32_t>(hash % uplinks);
    cross(platform, row.forward(from * uplinks + uplink), into);
    down.push_back(row.backward(to * uplinks + uplink));
  }
  std::ranges::reverse(down);
  for (LinkId link : down) cross(platform, link, into);
}

std::uint64_t count_fat_tree_links(const FatTreeNetwork& tree, std::uint32_t node_count) {
  std::uint64_t count = tree.port ? directions(*tree.port) * node_count : 0;
  std::uint32_t children = node_count;
  for (const FatTreeLevel& level : tree.levels) {
    children = divide_up(children, level.children);
    if (children == 1) break;
    count += std::uint64_t{2} * children * level.uplinks;
  }
  return count;
}

std::uint64_t count_torus_links(const TorusNetwork& torus, std::uint32_t node_count) {
  std::uint64_t count = 0;
  for (const TorusDimension& dimension : dimensions(torus, node_count)) count += dimension.link_count;
  return directions(torus.link) * count;
}

/// Adds the uplink of each rail's leaf switch, which only the rail's NICs load.
void add_rails(Platform& platform, const NodeForm& form, const RailsNetwork& rails) {
  platform.network.wires = begin_row(platform, rails.uplink);
  for (std::uint32_t rail = 0; rail < rail_count(form); ++rail) {
    BytesPerSecond below(0);
    for (const NodeGroup& group : form.groups) {
      const NodeKind& kind = form.node_kinds[group.kind];
      if (rail < nic_count(kind)) below += group.count * kind.nic->link.bandwidth;
    }
    const std::string name = "rail" + std::to_string(rail);
    add_link(platform, rails.uplink, up_and_down(name, name), {below, below});
  }
}

/// The number of the device's NIC; 0 where its node has none.
std::uint32_t rail_of(const Platform& platform, const NodeForm& form, DeviceId device) {
  const Node& node = platform.nodes[platform.devices[device].node];
  const NodeKind& kind = form.node_kinds[node.kind];
  return kind.nic ? nic_of(kind, device.value() - node.first_device.value()) : 0;
}

void cross_rails(const Platform& platform, std::uint32_t from, std::uint32_t to, Route& into) {
  if (from == to) return;
  cross(platform, platform.network.wires.forward(from), into);
  cross(platform, platform.network.wires.backward(to), into);
}

}  // namespace

std::uint64_t count_network_links(const NodeForm& form, std::uint32_t node_count) {
  const Network& network = form.network;
  if (const auto* rails = std::get_if<RailsNetwork>(&network)) return directions(rails->uplink) * rail_count(form);
  if (const auto* full = std::get_if<FullNetwork>(&network))
    return directions(full->link) * (std::uint64_t{node_count} * (node_count - 1) / 2);
  if (const auto* torus = std::get_if<TorusNetwork>(&network)) return count_torus_links(*torus, node_count);
  if (const auto* tree = std::get_if<FatTreeNetwork>(&network)) return count_fat_tree_links(*tree, node_count);
  if (const auto* dragonfly = std::get_if<DragonflyNetwork>(&network)) {
    return count_dragonfly_links(*dragonfly, node_count);
  }
  const std::optional<LinkSpec>& port = port_of(network);
  return port ? directions(*port) * node_count : 0;
}

void add_network_links(Platform& platform, const NodeForm& form) {
  Widths widths = nic_widths(platform, form);
  if (const std::optional<LinkSpec>& port = port_of(form.network)) add_ports(platform, *port, widths);
  if (const auto* full = std::get_if<FullNetwork>(&form.network)) {
    add_full_links(platform, *full, widths);
  } else if (const auto* torus = std::get_if<TorusNetwork>(&form.network)) {
    add_torus_links(platform, *torus, static_cast<std::uint32_t>(widths.size()));
  } else if (const auto* tree = std::get_if<FatTreeNetwork>(&form.network)) {
    add_fat_tree_links(platform, *tree, std::move(widths));
  } else if (const auto* dragonfly = std::get_if<DragonflyNetwork>(&form.network)) {
    add_dragonfly_links(platform, *dragonfly, widths);
  } else if (const auto* rails = std::get_if<RailsNetwork>(&form.network)) {
    add_rails(platform, form, *rails);
  }
}

void cross_network(const Platform& platform, const NodeForm& form, DeviceId from, DeviceId to, Route& into) {
  const bool has_ports = port_of(form.network).has_value();
  const std::uint32_t a = platform.devices[from].node.value();
  const std::uint32_t b = platform.devices[to].node.value();
  if (has_ports) cross(platform, platform.network.ports.forward(a), into);
  if (std::holds_alternative<FullNetwork>(form.network)) {
    cross_pair(platform, platform.network.wires, a, b, static_cast<std::uint32_t>(platform.nodes.size()), into);
  } else if (const auto* torus = std::get_if<TorusNetwork>(&form.network)) {
    cross_torus(platform, *torus, a, b, into);
  } else if (const auto* tree = std::get_if<FatTreeNetwork>(&form.network)) {
    cross_fat_tree(platform, *tree, from, to, into);
  } else if (const auto* dragonfly = std::get_if<DragonflyNetwork>(&form.network)) {
    cross_dragonfly(platform, *dragonfly, a, b, into);
  } else if (std::holds_alternative<RailsNetwork>(form.network)) {
    cross_rails(platform, rail_of(platform, form, from), rail_of(platform, form, to), into);
  }
  if (has_ports) cross(platform, platform.network.ports.backward(b), into);
}

std::uint32_t attachment(const Platform& platform, const NodeForm& form, DeviceId device) {
  if (std::holds_alternative<RailsNetwork>(form.network)) return rail_of(platform, form, device);
  const NodeId node = platform.devices[device].node;
  const auto* tree = std::get_if<FatTreeNetwork>(&form.network);
  if (tree != nullptr) return tree->levels.empty() ? 0 : node.value() / tree->levels.front().children;
  const auto* dragonfly = std::get_if<DragonflyNetwork>(&form.network);
  return dragonfly != nullptr ? node.value() / dragonfly->nodes_per_router : 0;
}

BytesPerSecond smallest_bandwidth_between_nodes(const Platform& platform, const NodeForm& form) {
  STAGECRAFT_CHECK(platform.nodes.size() > 1, "a pair of nodes");
  BytesPerSecond smallest = kNoLimit;
  if (const std::optional<LinkSpec>& port = port_of(form.network)) smallest = port->bandwidth;
  if (const auto* full = std::get_if<FullNetwork>(&form.network)) return std::min(smallest, full->link.bandwidth);
  if (const auto* torus = std::get_if<TorusNetwork>(&form.network)) return std::min(smallest, torus->link.bandwidth);
  if (const auto* rails = std::get_if<RailsNetwork>(&form.network)) {
    return rail_count(form) > 1 ? rails->uplink.bandwidth : smallest;
  }
  for (const LinkRow& level : platform.network.levels) {
    smallest = std::min(smallest, platform.links[level.forward(0)].bandwidth);
  }
  if (const auto* dragonfly = std::get_if<DragonflyNetwork>(&form.network)) {
    smallest =
        std::min(smallest, narrowest_in_dragonfly(*dragonfly, static_cast<std::uint32_t>(platform.nodes.size())));
  }
  return smallest;
}

}  // namespace stagecraft
