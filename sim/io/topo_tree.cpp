#include "sim/io/topo_tree.hpp"

#include "sim/io/topo_groups.hpp"

#include <algorithm>
#include <cstdint>

namespace stagecraft {
namespace {

/// Numbers things in the order in which they first come.
TopoGroups numbers_of(const std::vector<std::size_t>& things) {
  std::vector<std::size_t> firsts;
  TopoGroups groups;
  for (const std::size_t thing : things) {
    const auto found = std::ranges::find(firsts, thing);
    groups.push_back(static_cast<std::uint32_t>(found - firsts.begin()));
    if (found == firsts.end()) firsts.push_back(thing);
  }
  return groups;
}

/// By GPU, its switch: a place, or behind those a number of its own if it is attached to a socket.
std::vector<std::size_t> switches_of(const TopoTree& tree) {
  std::vector<std::size_t> switches;
  for (const TopoTree::Gpu& gpu : tree.gpus) {
    const bool is_at_socket = !tree.places[gpu.place].above;
    switches.push_back(is_at_socket ? tree.places.size() + switches.size() : gpu.place);
  }
  return switches;
}

LinkSpec narrower_link(const LinkSpec& a, const LinkSpec& b) { return a.bandwidth < b.bandwidth ? a : b; }

/// By place, how many things are attached to it.
std::vector<std::size_t> attached(const TopoTree& tree) {
  std::vector<std::size_t> counts(tree.places.size());
  for (const TopoTree::Place& place : tree.places) {
    if (place.above) ++counts[*place.above];
  }
  for (const TopoTree::Gpu& gpu : tree.gpus) ++counts[gpu.place];
  for (const TopoTree::Nic& nic : tree.nics) ++counts[nic.place];
  return counts;
}

}  // namespace

TopoTree tree_of(const TopoMatrix& matrix, const LinkSpec& link) {
  const TopoGroups switches = pcie_switches(matrix);
  const TopoGroups sockets = numa_nodes(matrix);
  const std::size_t switch_count = *std::ranges::max_element(switches) + std::size_t{1};
  const std::size_t socket_count = *std::ranges::max_element(sockets) + std::size_t{1};
  TopoTree tree;
  tree.socket_link = link;
  tree.places.assign(switch_count + socket_count, {std::nullopt, link});
  for (std::size_t i = 0; i < switches.size(); ++i) {
    tree.places[switches[i]].above = switch_count + sockets[i];
    tree.gpus.push_back({switches[i], link});
  }
  return tree;
}

std::vector<std::size_t> way_up(const TopoTree& tree, std::size_t place) {
  std::vector<std::size_t> way{place};
  while (const auto above = tree.places[way.back()].above) way.push_back(*above);
  return way;
}

TopoPath path_between(const TopoTree& tree, std::size_t a, std::size_t b) {
  if (a == b) return tree.places[a].above ? TopoPath::Pix : TopoPath::Phb;
  const std::vector<std::size_t> from = way_up(tree, a);
  const std::vector<std::size_t> to = way_up(tree, b);
  if (from.back() != to.back()) return TopoPath::Sys;
  const auto meeting =
      std::ranges::find_if(from, [&](std::size_t place) { return std::ranges::find(to, place) != to.end(); });
  return tree.places[*meeting].above ? TopoPath::Pxb : TopoPath::Phb;
}

TopoTree without_chains(TopoTree tree) {
  const std::vector<std::size_t> counts = attached(tree);
  const auto skip = [&](auto& thing, std::size_t place) {
    while (tree.places[place].above && counts[place] == 1) {
      thing.up = narrower_link(thing.up, tree.places[place].up);
      place = *tree.places[place].above;
    }
    return place;
  };
  for (TopoTree::Place& place : tree.places) {
    if (place.above) place.above = skip(place, *place.above);
  }
  for (TopoTree::Gpu& gpu : tree.gpus) gpu.place = skip(gpu, gpu.place);
  for (TopoTree::Nic& nic : tree.nics) nic.place = skip(nic, nic.place);
  return tree;
}

std::optional<Interconnect> regular_tree(const TopoTree& tree) {
  const std::vector<std::size_t> switches = switches_of(tree);
  std::vector<std::size_t> sockets;  // by switch
  std::vector<LinkSpec> uplinks;     // by GPU
  for (std::size_t i = 0; i < switches.size(); ++i) {
    const std::vector<std::size_t> way = way_up(tree, tree.gpus[i].place);
    if (way.size() > 2) return std::nullopt;
    uplinks.push_back(way.size() == 2 ? tree.places[way.front()].up : LinkSpec{tree.gpus[i].up.bandwidth, Seconds(0)});
    if (std::ranges::find(switches, switches[i]) - switches.begin() == std::ptrdiff_t(i)) sockets.push_back(way.back());
  }
  const LinkSpec& link = tree.gpus.front().up;
  const bool is_alike = std::ranges::all_of(tree.gpus, [&](const TopoTree::Gpu& gpu) { return gpu.up == link; }) &&
                        std::ranges::all_of(uplinks, [&](const LinkSpec& up) { return up == uplinks.front(); });
  const auto per_switch = regular_size(numbers_of(switches));
  const auto per_socket = regular_size(numbers_of(sockets));
  if (!is_alike || !per_switch || !per_socket) return std::nullopt;
  PcieNode node{*per_switch, uplinks.front(), 0, {}};
  if (*per_socket < sockets.size()) {
    node.switches_per_socket = *per_socket;
    node.socket_link = tree.socket_link;
  }
  return Interconnect{node, link};
}

TopoHostLink host_link(const TopoTree& tree) {
  LinkSpec narrowest = tree.gpus.front().up;
  for (const TopoTree::Gpu& gpu : tree.gpus) {
    narrowest = narrower_link(gpu.up, narrowest);
    for (const std::size_t place : way_up(tree, gpu.place)) {
      if (tree.places[place].above) narrowest = narrower_link(tree.places[place].up, narrowest);
    }
  }
  const auto sharers = regular_size(numbers_of(switches_of(tree)));
  return {narrowest.bandwidth, sharers && tree.gpus.size() % *sharers == 0 ? *sharers : 1};
}

}  // namespace stagecraft
