#include "sim/io/platform_topology.hpp"

#include "sim/io/platform_names.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/model/interconnect.hpp"
#include "sim/model/nics.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace stagecraft {
namespace {

constexpr std::uint32_t kCubeMeshDevices = 8;
constexpr std::size_t kMostDimensions = 16;  ///< dimensions of a torus, and levels of a fat tree
constexpr double kMostOversubscribed = 1000.0;
constexpr BytesPerSecond kNarrowest(1.0);
constexpr BytesPerSecond kWidest(1e18);
constexpr Seconds kLongestLatency(1e6);

using Keys = std::vector<std::string>;
using Shape = decltype(Interconnect::shape);

/// A word after `type:`, the keys that it takes, and the function that reads them into a `T`. The function's count is
/// the number of devices or nodes.
template <class T>
struct TypeFormat {
  std::string name;
  Keys keys;
  T (*read)(const YamlNode& node, std::uint32_t count);
};

Keys with_link_keys(const Keys& others) {
  Keys keys = {"type", "bandwidth", "latency", "duplex", "sharing"};
  keys.insert(keys.end(), others.begin(), others.end());
  return keys;
}

/// Reads the type and refuses the keys of others.
template <class T>
const TypeFormat<T>& find_format(const YamlNode& node, std::string_view what,
                                 const std::vector<TypeFormat<T>>& formats) {
  Choices<const TypeFormat<T>*> choices;
  for (const TypeFormat<T>& format : formats) choices.emplace_back(format.name, &format);
  const TypeFormat<T>& format = *read_choice(node.at("type"), choices);
  for (const auto& [key, value] : node.entries()) {
    if (std::ranges::find(format.keys, key) != format.keys.end()) continue;
    value.fail(std::string(what) + " of type " + quote(format.name) + " does not take the key " + quote(key),
               suggest_name(key, format.keys));
  }
  return format;
}

Seconds read_latency(const YamlNode& node) {
  const Seconds latency = read_seconds(node);
  if (latency > kLongestLatency) node.fail_expected("a latency of at most 1000000 s");
  return latency;
}

std::uint32_t read_size(const YamlNode& node) { return static_cast<std::uint32_t>(read_count(node, 1, kMostDevices)); }

std::pair<std::uint32_t, std::uint32_t> read_device_pair(const YamlNode& node) {
  const std::vector<YamlNode> ends = node.items();
  if (ends.size() != 2) node.fail("expected two devices, found " + std::to_string(ends.size()));
  const auto number = [](const YamlNode& end) {
    return static_cast<std::uint32_t>(read_count(end, 0, kCubeMeshDevices - 1));
  };
  return {number(ends[0]), number(ends[1])};
}

Shape read_cube_mesh(const YamlNode& node, std::uint32_t device_count) {
  if (device_count != kCubeMeshDevices) {
    node.at("type").fail("a cube-mesh joins 8 devices, and this kind of node has " + std::to_string(device_count));
  }
  CubeMeshNode mesh;
  const auto doubled = node.find("doubled");
  if (!doubled) return mesh;
  const auto wired = linked_pairs({CubeMeshNode{}, {}}, device_count);
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (const YamlNode& item : doubled->items()) {
    const auto [a, b] = read_device_pair(item);
    const std::pair pair(std::min(a, b), std::max(a, b));
    if (std::ranges::find(wired, pair) == wired.end()) {
      item.fail("the devices " + std::to_string(a) + " and " + std::to_string(b) + " have no link in a cube-mesh",
                "0 to 3 are all linked with each other, so are 4 to 7, and 0 with 4, 1 with 5, 2 with 6, 3 with 7");
    }
    if (!seen.insert(pair).second) item.fail("the pair is listed twice");
    mesh.doubled.emplace_back(a, b);
  }
  return mesh;
}

Shape read_pcie(const YamlNode& node, std::uint32_t device_count) {
  PcieNode tree;
  tree.devices_per_switch = read_size(node.at("devices_per_switch"));
  const auto uplink = node.find("uplink");
  tree.uplink = uplink ? read_whole_link(*uplink) : read_link(node);
  if (const auto switches = node.find("switches_per_socket")) tree.switches_per_socket = read_size(*switches);
  const auto socket_link = node.find("socket_link");
  if (socket_link) {
    tree.socket_link = read_whole_link(*socket_link);
    if (tree.switches_per_socket == 0)
      socket_link->fail("without the key 'switches_per_socket' there is only one socket, so no socket link");
  }
  const std::uint32_t sockets = socket_count(tree, device_count);
  if (sockets > 1 && !socket_link) {
    node.fail("the key 'socket_link' is missing", "there are " + std::to_string(sockets) + " sockets");
  }
  return tree;
}

const std::vector<TypeFormat<Shape>>& interconnect_formats() {
  static const std::vector<TypeFormat<Shape>> kFormats = {
      {"switch", with_link_keys({}), [](const YamlNode&, std::uint32_t) -> Shape { return SwitchedNode{}; }},
      {"full", with_link_keys({}), [](const YamlNode&, std::uint32_t) -> Shape { return FullNode{}; }},
      {"ring", with_link_keys({}), [](const YamlNode&, std::uint32_t) -> Shape { return RingNode{}; }},
      {"cube-mesh", with_link_keys({"doubled"}), read_cube_mesh},
      {"pcie", with_link_keys({"devices_per_switch", "uplink", "switches_per_socket", "socket_link"}), read_pcie}};
  return kFormats;
}

/// The link of a node's port, if the network has any key of a link.
std::optional<LinkSpec> read_port(const YamlNode& node) {
  constexpr std::array<std::string_view, 4> kKeys = {"bandwidth", "latency", "duplex", "sharing"};
  if (std::ranges::none_of(kKeys, [&](std::string_view key) { return node.find(key).has_value(); })) return {};
  return read_link(node);
}

Network read_torus(const YamlNode& node, std::uint32_t node_count) {
  TorusNetwork torus;
  torus.link = read_link(node);
  const YamlNode sizes = node.at("sizes");
  std::uint64_t product = 1;
  std::string text;
  for (const YamlNode& item : sizes.items()) {
    torus.sizes.push_back(read_size(item));
    text += (text.empty() ? "" : " x ") + std::to_string(torus.sizes.back());
    product = std::min<std::uint64_t>(product * torus.sizes.back(), std::uint64_t{1} << 40);
    if (torus.sizes.size() > kMostDimensions) sizes.fail("expected at most 16 sizes, found more");
  }
  if (torus.sizes.empty()) sizes.fail("expected at least one size, found none");
  if (product != node_count) {
    sizes.fail("expected sizes whose product is the number of nodes, " + std::to_string(node_count) + ", found " +
               text);
  }
  return torus;
}

FatTreeLevel read_level(const YamlNode& node) {
  node.allow_keys({"children", "oversubscription", "uplinks", "latency"});
  FatTreeLevel level;
  level.children = read_size(node.at("children"));
  if (const auto ratio = node.find("oversubscription")) {
    level.oversubscription = read_positive_number(*ratio);
    if (level.oversubscription > kMostOversubscribed || level.oversubscription < 1.0 / kMostOversubscribed) {
      ratio->fail_expected("a number from 0.001 to 1000");
    }
  }
  if (const auto uplinks = node.find("uplinks")) level.uplinks = read_size(*uplinks);
  if (const auto latency = node.find("latency")) level.latency = read_latency(*latency);
  return level;
}

Network read_fat_tree(const YamlNode& node, std::uint32_t) {
  FatTreeNetwork tree;
  tree.port = read_port(node);
  const YamlNode levels = node.at("levels");
  for (const YamlNode& item : levels.items()) {
    tree.levels.push_back(read_level(item));
    if (tree.levels.size() > kMostDimensions) levels.fail("expected at most 16 levels, found more");
  }
  if (tree.levels.empty()) levels.fail("expected at least one level, found none");
  return tree;
}

Network read_dragonfly(const YamlNode& node, std::uint32_t) {
  DragonflyNetwork dragonfly;
  dragonfly.routers_per_group = read_size(node.at("routers_per_group"));
  dragonfly.nodes_per_router = read_size(node.at("nodes_per_router"));
  dragonfly.local_link = read_link(node);
  dragonfly.global_link = dragonfly.local_link;
  dragonfly.global_link.bandwidth = read_usable_bandwidth(node.at("global_bandwidth"));
  dragonfly.global_link.latency = read_latency(node.at("global_latency"));
  return dragonfly;
}

const std::vector<TypeFormat<Network>>& network_formats() {
  static const std::vector<TypeFormat<Network>> kFormats = {
      {"switch", with_link_keys({}),
       [](const YamlNode& node, std::uint32_t) -> Network { return SwitchedNetwork{read_port(node)}; }},
      {"full", with_link_keys({}),
       [](const YamlNode& node, std::uint32_t) -> Network { return FullNetwork{read_link(node)}; }},
      {"ring", with_link_keys({}),
       [](const YamlNode& node, std::uint32_t count) -> Network { return TorusNetwork{{count}, read_link(node)}; }},
      {"torus", with_link_keys({"sizes"}), read_torus},
      {"fat-tree", with_link_keys({"levels"}), read_fat_tree},
      {"dragonfly", with_link_keys({"routers_per_group", "nodes_per_router", "global_bandwidth", "global_latency"}),
       read_dragonfly},
      {"rails", with_link_keys({}),
       [](const YamlNode& node, std::uint32_t) -> Network { return RailsNetwork{read_link(node)}; }}};
  return kFormats;
}

/// Refuses a fat tree whose uplinks are too narrow. Their bandwidth follows from the links below them.
void check_uplinks(const YamlNode& node, const FatTreeNetwork& tree, BytesPerSecond child) {
  for (std::size_t i = 0; i < tree.levels.size(); ++i) {
    const FatTreeLevel& level = tree.levels[i];
    child = level.children * child / level.oversubscription;
    if (child / level.uplinks < kNarrowest) {
      node.at("levels").items()[i].fail("an uplink of this level would be narrower than 1 Bps");
    }
  }
}

}  // namespace

BytesPerSecond read_usable_bandwidth(const YamlNode& node) {
  const BytesPerSecond bandwidth = read_bandwidth(node);
  if (bandwidth < kNarrowest || bandwidth > kWidest) node.fail_expected("a bandwidth from 1 Bps to 1000000 TBps");
  return bandwidth;
}

LinkSpec read_link(const YamlNode& node) {
  LinkSpec link;
  link.bandwidth = read_usable_bandwidth(node.at("bandwidth"));
  link.latency = read_latency(node.at("latency"));
  if (const auto duplex = node.find("duplex")) link.duplex = read_choice(*duplex, duplex_choices());
  if (const auto sharing = node.find("sharing")) link.sharing = read_choice(*sharing, sharing_choices());
  return link;
}

LinkSpec read_whole_link(const YamlNode& node) {
  node.allow_keys({"bandwidth", "latency", "duplex", "sharing"});
  return read_link(node);
}

HostSpec read_host(const YamlNode& node, bool has_tree) {
  node.allow_keys({"memory", "link"});
  HostSpec host;
  host.memory = read_bytes(node.at("memory"));
  const auto link = has_tree ? node.find("link") : node.at("link");
  if (!link) return host;
  link->allow_keys({"bandwidth", "latency", "duplex", "sharing", "shared_by"});
  host.link = read_link(*link);
  if (const auto shared = link->find("shared_by")) {
    host.shared_by = static_cast<std::uint32_t>(read_count(*shared, 1, kMostDevices));
  }
  return host;
}

Interconnect read_interconnect(const YamlNode& node, std::uint32_t device_count) {
  const TypeFormat<Shape>& format = find_format(node, "an interconnect", interconnect_formats());
  const LinkSpec link = read_link(node);
  return {format.read(node, device_count), link};
}

Network read_network(const YamlNode& node, std::uint32_t node_count) {
  return find_format(node, "a network", network_formats()).read(node, node_count);
}

void check_network(const YamlNode& node, const NodeForm& form) {
  if (form.network == Network(SwitchedNetwork{})) return;
  BytesPerSecond widest(0);
  for (const NodeGroup& group : form.groups) widest = std::max(widest, nics_bandwidth(form.node_kinds[group.kind]));
  if (widest == BytesPerSecond(0)) {
    node.fail("the network cannot connect the nodes, because their kinds have no nic", "give the node kinds a nic");
  }
  if (std::holds_alternative<RailsNetwork>(form.network) && rail_count(form) < 2) {
    node.at("type").fail("no kind of node has several NICs, so there is one rail, and its uplink carries nothing",
                         "give a node kind a nic with 'per: device'");
  }
  const auto* tree = std::get_if<FatTreeNetwork>(&form.network);
  if (tree != nullptr) check_uplinks(node, *tree, tree->port ? tree->port->bandwidth : widest);
}

}  // namespace stagecraft
