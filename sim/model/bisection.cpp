#include "sim/model/bisection.hpp"

#include "sim/model/dragonfly.hpp"
#include "sim/model/interconnect.hpp"
#include "sim/model/link_row.hpp"
#include "sim/model/nics.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace stagecraft {
namespace {

using Widths = std::vector<BytesPerSecond>;

BytesPerSecond sum_of(const Widths& widths) { return std::accumulate(widths.begin(), widths.end(), BytesPerSecond(0)); }

BytesPerSecond width_of(const Platform& platform, LinkId link) { return platform.links[link].bandwidth; }

/// The bandwidth that the members of each half can bring up to the switches of a level. A switch over members of both
/// halves does not bound them, because their traffic does not have to cross its uplinks.
struct Halves {
  Widths first;  ///< by member, and by switch once climbed
  Widths second;
  std::vector<bool> is_shared;
};

Halves split(const Widths& widths, std::uint32_t first_half) {
  Halves halves{Widths(widths.size()), Widths(widths.size()), std::vector<bool>(widths.size())};
  for (std::uint32_t i = 0; i < widths.size(); ++i) (i < first_half ? halves.first : halves.second)[i] = widths[i];
  return halves;
}

/// Climbs one level. Each switch has `children` members below it, and its uplinks together carry `uplinks(switch)`.
template <class Uplinks>
Halves climbed(const Halves& below, std::uint32_t children, const Uplinks& uplinks) {
  constexpr BytesPerSecond kNothing(0);
  const auto child_count = static_cast<std::uint32_t>(below.first.size());
  const std::uint32_t count = divide_up(child_count, children);
  Halves above{Widths(count), Widths(count), std::vector<bool>(count)};
  for (std::uint32_t child = 0; child < child_count; ++child) {
    above.first[child / children] += below.first[child];
    above.second[child / children] += below.second[child];
    if (below.is_shared[child]) above.is_shared[child / children] = true;
  }
  for (std::uint32_t s = 0; s < count; ++s) {
    if (above.first[s] > kNothing && above.second[s] > kNothing) above.is_shared[s] = true;
    if (above.is_shared[s]) continue;
    above.first[s] = std::min(above.first[s], uplinks(s));
    above.second[s] = std::min(above.second[s], uplinks(s));
  }
  return above;
}

BytesPerSecond narrower(const Halves& halves) { return std::min(sum_of(halves.first), sum_of(halves.second)); }

/// The bandwidth of each node: what its devices can send over its NICs, bounded by its port if there is one.
Widths node_widths(const Platform& platform, const NodeForm& form) {
  Widths widths;
  for (std::uint32_t i = 0; i < platform.nodes.size(); ++i) {
    const BytesPerSecond width = reach_of_nics(form.node_kinds[platform.nodes[NodeId(i)].kind]);
    const auto* switched = std::get_if<SwitchedNetwork>(&form.network);
    const auto* tree = std::get_if<FatTreeNetwork>(&form.network);
    const bool has_port = (switched != nullptr && switched->port) || (tree != nullptr && tree->port);
    widths.push_back(has_port ? std::min(width, width_of(platform, platform.network.ports.forward(i))) : width);
  }
  return widths;
}

BytesPerSecond across_fat_tree(const Platform& platform, const FatTreeNetwork& tree, Halves halves) {
  for (std::size_t i = 0; i < platform.network.levels.size(); ++i) {
    const FatTreeLevel& level = tree.levels[i];
    halves = climbed(halves, level.children, [&](std::uint32_t s) {
      return level.uplinks * width_of(platform, platform.network.levels[i].forward(s * level.uplinks));
    });
  }
  return narrower(halves);
}

BytesPerSecond across_full(const Platform& platform, std::uint32_t first_half) {
  const auto nodes = static_cast<std::uint32_t>(platform.nodes.size());
  BytesPerSecond sum(0);
  for (std::uint32_t a = 0; a < first_half; ++a) {
    for (std::uint32_t b = first_half; b < nodes; ++b) {
      sum += width_of(platform, platform.network.wires.forward(pair_index(a, b, nodes)));
    }
  }
  return sum;
}

BytesPerSecond across_torus(const TorusNetwork& torus, std::uint32_t nodes, std::uint32_t first_half) {
  std::uint32_t crossing = 0;
  std::uint32_t stride = 1;
  for (std::uint32_t size : torus.sizes) {
    for (std::uint32_t node = 0; node < nodes; ++node) {
      const std::uint32_t at = node / stride % size;
      if (size == 1 || (size == 2 && at == 1)) continue;
      const std::uint32_t next = node - at * stride + (at + 1) % size * stride;
      if ((node < first_half) != (next < first_half)) ++crossing;
    }
    stride *= size;
  }
  return crossing * torus.link.bandwidth;
}

BytesPerSecond between_nodes(const Platform& platform, const NodeForm& form, std::uint32_t first_half) {
  const auto nodes = static_cast<std::uint32_t>(platform.nodes.size());
  const Widths widths = node_widths(platform, form);
  const Halves halves = split(widths, first_half);
  BytesPerSecond bandwidth = narrower(halves);
  if (const auto* tree = std::get_if<FatTreeNetwork>(&form.network)) return across_fat_tree(platform, *tree, halves);
  if (std::holds_alternative<FullNetwork>(form.network)) {
    bandwidth = std::min(bandwidth, across_full(platform, first_half));
  } else if (const auto* torus = std::get_if<TorusNetwork>(&form.network)) {
    bandwidth = std::min(bandwidth, across_torus(*torus, nodes, first_half));
  } else if (const auto* dragonfly = std::get_if<DragonflyNetwork>(&form.network)) {
    bandwidth = flow_across_dragonfly(*dragonfly, widths, first_half);
  }
  return bandwidth;
}

BytesPerSecond across_pcie(const Platform& platform, const NodeKind& kind, const PcieNode& tree, Halves halves) {
  const Node& node = platform.nodes[NodeId(0)];
  halves = climbed(halves, tree.devices_per_switch,
                   [&](std::uint32_t s) { return width_of(platform, node.uplinks.forward(s)); });
  const std::uint32_t sockets = socket_count(tree, kind.device_count);
  if (sockets == 1) return narrower(halves);
  const std::uint32_t others = sockets / 2;  // sockets in the other half, to each of which a socket has a link
  halves =
      climbed(halves, tree.switches_per_socket, [&](std::uint32_t) { return others * tree.socket_link.bandwidth; });
  return narrower(halves);
}

BytesPerSecond inside_node(const Platform& platform, const NodeKind& kind, std::uint32_t first_half) {
  const Interconnect& interconnect = *kind.interconnect;
  const Node& node = platform.nodes[NodeId(0)];
  const Halves halves = split(Widths(kind.device_count, interconnect.link.bandwidth), first_half);
  if (std::holds_alternative<SwitchedNode>(interconnect.shape)) return narrower(halves);
  if (const auto* tree = std::get_if<PcieNode>(&interconnect.shape)) return across_pcie(platform, kind, *tree, halves);
  BytesPerSecond sum(0);
  std::uint32_t row = 0;
  for (const auto& [a, b] : linked_pairs(interconnect, kind.device_count)) {
    if ((a < first_half) != (b < first_half)) sum += width_of(platform, node.interconnect.forward(row));
    ++row;
  }
  return sum;
}

}  // namespace

std::optional<Bisection> bisection(const Platform& platform) {
  const auto* form = std::get_if<NodeForm>(&platform.spec.form);
  if (form == nullptr) return std::nullopt;
  Bisection result;
  result.is_of_nodes = platform.nodes.size() > 1;
  const std::size_t members = result.is_of_nodes ? platform.nodes.size() : platform.devices.size();
  result.first_half = static_cast<std::uint32_t>(members / 2);
  const NodeKind& kind = form->node_kinds[platform.nodes[NodeId(0)].kind];
  if (members < 2 || (!result.is_of_nodes && !kind.interconnect)) return std::nullopt;
  result.bandwidth = result.is_of_nodes ? between_nodes(platform, *form, result.first_half)
                                        : inside_node(platform, kind, result.first_half);
  if (result.bandwidth == BytesPerSecond(0)) return std::nullopt;
  return result;
}

}  // namespace stagecraft
