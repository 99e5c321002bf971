#include "sim/io/simai_platform.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/platform_topology.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace stagecraft {
namespace {

using SimaiKind = SimaiTopology::Kind;

/// By node, its neighbours and the links to them. Nodes that were joined to others have none.
struct SimaiGraph {
  std::vector<SimaiKind> kinds;
  std::vector<std::map<std::size_t, LinkSpec>> links;
  std::size_t joined = 0;  ///< switches that others stand for
};

SimaiGraph graph_of(const SimaiTopology& topology) {
  SimaiGraph graph{topology.nodes, std::vector<std::map<std::size_t, LinkSpec>>(topology.nodes.size()), 0};
  for (const SimaiTopology::Link& link : topology.links) {
    graph.links[link.a].emplace(link.b, link.link);
    graph.links[link.b].emplace(link.a, link.link);
  }
  return graph;
}

/// Lets one switch stand for several that have the same links, once; false if there are none.
bool join_twins(SimaiGraph& graph) {
  using Key = std::tuple<SimaiKind, std::vector<std::tuple<std::size_t, double, double>>>;
  std::map<Key, std::vector<std::size_t>> groups;
  for (std::size_t node = 0; node < graph.kinds.size(); ++node) {
    if (graph.kinds[node] == SimaiKind::Gpu || graph.links[node].empty()) continue;
    Key key{graph.kinds[node], {}};
    for (const auto& [other, link] : graph.links[node]) {
      std::get<1>(key).emplace_back(other, link.bandwidth.value(), link.latency.value());
    }
    groups[key].push_back(node);
  }
  bool has_joined = false;
  for (const auto& [key, twins] : groups) {
    if (twins.size() == 1) continue;
    has_joined = true;
    for (auto& [other, link] : graph.links[twins.front()]) {
      link.bandwidth = link.bandwidth * static_cast<double>(twins.size());
      for (std::size_t i = 1; i < twins.size(); ++i) graph.links[other].erase(twins[i]);
      graph.links[other].at(twins.front()) = link;
    }
    for (std::size_t i = 1; i < twins.size(); ++i) graph.links[twins[i]].clear();
    graph.joined += twins.size() - 1;
  }
  return has_joined;
}

/// A GPU with its only link to an NVSwitch, and its only one to another switch.
struct SimaiGpu {
  std::optional<std::pair<std::size_t, LinkSpec>> nvswitch;
  std::optional<std::pair<std::size_t, LinkSpec>> leaf;
};

/// Servers whose GPUs have links alike.
struct SimaiServers {
  std::size_t size = 1;  ///< GPUs of a server
  std::vector<SimaiGpu> gpus;
  [[nodiscard]] std::size_t count() const { return gpus.size() / size; }
  [[nodiscard]] std::size_t leaf(std::size_t gpu) const { return gpus[gpu].leaf->first; }
};

/// None if a GPU has several links of a kind, or if they differ between GPUs.
std::optional<SimaiServers> servers_of(const SimaiGraph& graph, std::size_t size) {
  SimaiServers servers{size, {}};
  const auto link_of = [](const auto& end) { return end ? std::optional(end->second) : std::nullopt; };
  for (std::size_t node = 0; node < graph.kinds.size(); ++node) {
    if (graph.kinds[node] != SimaiKind::Gpu) continue;
    SimaiGpu gpu;
    for (const auto& [other, link] : graph.links[node]) {
      auto& end = graph.kinds[other] == SimaiKind::NvSwitch ? gpu.nvswitch : gpu.leaf;
      if (end) return std::nullopt;
      end.emplace(other, link);
    }
    servers.gpus.push_back(gpu);
    const SimaiGpu& first = servers.gpus.front();
    if (link_of(gpu.nvswitch) != link_of(first.nvswitch) || link_of(gpu.leaf) != link_of(first.leaf)) {
      return std::nullopt;
    }
  }
  return servers;
}

/// Whether the GPUs of each server, and no others, have an NVSwitch, or none has one.
bool has_servers(const SimaiGraph& graph, const SimaiServers& servers) {
  if (!servers.gpus.front().nvswitch) return servers.size == 1;
  for (std::size_t gpu = 0; gpu < servers.gpus.size(); ++gpu) {
    const std::size_t of_first = servers.gpus[gpu - gpu % servers.size].nvswitch->first;
    const std::size_t own = servers.gpus[gpu].nvswitch->first;
    if (own != of_first || graph.links[own].size() != servers.size) return false;
  }
  return true;
}

/// The link of a leaf to the spine that joins all leaves, if these have so many GPUs each and equal links to it.
std::optional<LinkSpec> uplink_of(const SimaiGraph& graph, const std::vector<std::size_t>& leaves, std::size_t gpus) {
  std::optional<std::pair<std::size_t, LinkSpec>> up;
  for (const std::size_t leaf : leaves) {
    if (graph.links[leaf].size() != gpus + 1) return std::nullopt;
    const auto is_switch = [&](const auto& end) { return graph.kinds[end.first] == SimaiKind::Switch; };
    const auto spine = std::ranges::find_if(graph.links[leaf], is_switch);
    if (spine == graph.links[leaf].end() || (up && *up != std::pair<std::size_t, LinkSpec>(*spine))) {
      return std::nullopt;
    }
    up = *spine;
  }
  return graph.links[up->first].size() == leaves.size() ? std::optional(up->second) : std::nullopt;
}

/// The switches of the GPUs in the order in which they first come.
std::vector<std::size_t> leaves_of(const SimaiServers& servers) {
  std::vector<std::size_t> leaves;
  std::map<std::size_t, bool> seen;
  for (std::size_t gpu = 0; gpu < servers.gpus.size(); ++gpu) {
    if (seen.emplace(servers.leaf(gpu), true).second) leaves.push_back(servers.leaf(gpu));
  }
  return leaves;
}

std::optional<Network> rails_of(const SimaiGraph& graph, const SimaiServers& servers,
                                const std::vector<std::size_t>& leaves) {
  if (servers.size < 2 || leaves.size() != servers.size) return std::nullopt;
  for (std::size_t gpu = 0; gpu < servers.gpus.size(); ++gpu) {
    if (servers.leaf(gpu) != leaves[gpu % servers.size]) return std::nullopt;
  }
  const auto up = uplink_of(graph, leaves, servers.count());
  return up ? std::optional<Network>(RailsNetwork{*up}) : std::nullopt;
}

/// Leaves with whole servers, equally many and in their order.
std::optional<Network> fat_tree_of(const SimaiGraph& graph, const SimaiServers& servers,
                                   const std::vector<std::size_t>& leaves) {
  if (servers.gpus.size() % leaves.size() != 0) return std::nullopt;
  const std::size_t gpus = servers.gpus.size() / leaves.size();
  if (gpus % servers.size != 0) return std::nullopt;
  for (std::size_t gpu = 0; gpu < servers.gpus.size(); ++gpu) {
    if (servers.leaf(gpu) != leaves[gpu / gpus]) return std::nullopt;
  }
  const auto up = uplink_of(graph, leaves, gpus);
  if (!up) return std::nullopt;
  const double below = servers.gpus.front().leaf->second.bandwidth.value() * static_cast<double>(gpus);
  const double oversubscription = below / up->bandwidth.value();
  if (oversubscription < 1e-3 || oversubscription > 1e3) return std::nullopt;
  const auto children = static_cast<std::uint32_t>(gpus / servers.size);
  return FatTreeNetwork{{{children, oversubscription, 1, up->latency}}, std::nullopt};
}

/// The network between servers; none if no type says it.
std::optional<Network> network_of(const SimaiGraph& graph, const SimaiServers& servers) {
  const std::vector<std::size_t> leaves = leaves_of(servers);
  if (leaves.size() == 1 && graph.links[leaves.front()].size() == servers.gpus.size()) {
    return SwitchedNetwork{};
  }
  if (auto rails = rails_of(graph, servers, leaves)) return rails;
  return leaves.size() > 1 ? fat_tree_of(graph, servers, leaves) : std::nullopt;
}

std::optional<NodeForm> node_form(const SimaiGraph& graph, std::size_t gpus_per_server) {
  const auto servers = servers_of(graph, gpus_per_server);
  if (!servers || !has_servers(graph, *servers)) return std::nullopt;
  const SimaiGpu& gpu = servers->gpus.front();
  NodeKind kind{"server", DeviceKindId(0), static_cast<std::uint32_t>(servers->size), {}, {}, {}};
  if (servers->size > 1) kind.interconnect = Interconnect{SwitchedNode{}, gpu.nvswitch->second};
  NodeForm form;
  if (gpu.leaf) {
    auto network = network_of(graph, *servers);
    if (!network) return std::nullopt;
    form.network = *std::move(network);
    kind.nic = NicSpec{gpu.leaf->second, servers->size > 1, 1};
  } else if (servers->count() > 1) {
    return std::nullopt;
  }
  form.groups = {{form.node_kinds.push_back(std::move(kind)), static_cast<std::uint32_t>(servers->count())}};
  return form;
}

ExplicitForm explicit_network(const SimaiGraph& graph, std::size_t gpus_per_server) {
  ExplicitForm form;
  std::vector<ExplicitEnd> ends;
  for (std::size_t node = 0; node < graph.kinds.size(); ++node) {
    if (graph.kinds[node] != SimaiKind::Gpu) {
      const char* name = graph.kinds[node] == SimaiKind::NvSwitch ? "nvswitch" : "switch";
      const bool is_joined = graph.links[node].empty();
      ends.emplace_back(is_joined ? SwitchId::none() : form.switches.push_back(name + std::to_string(node)));
      continue;
    }
    const std::size_t number = form.devices.size();
    if (number % gpus_per_server == 0) form.nodes.push_back("server" + std::to_string(form.nodes.size()));
    const DeviceId id = form.devices.push_back(
        {"gpu" + std::to_string(number), DeviceKindId(0), std::nullopt, NodeId(form.nodes.size() - 1)});
    ends.emplace_back(id);
  }
  // The way over an NVSwitch is taken before one over a switch with as many links.
  for (const bool is_nvlink : {true, false}) {
    for (std::size_t a = 0; a < graph.kinds.size(); ++a) {
      for (const auto& [b, link] : graph.links[a]) {
        const bool has_nvswitch = graph.kinds[a] == SimaiKind::NvSwitch || graph.kinds[b] == SimaiKind::NvSwitch;
        if (a < b && has_nvswitch == is_nvlink) form.links.push_back({"", {{ends[a], ends[b]}}, link});
      }
    }
  }
  return form;
}

void check_gpu_count(std::size_t gpus, bool is_explicit, const InputPlace& place) {
  constexpr std::size_t kMostExplicit = 512;
  const std::size_t most = is_explicit ? kMostExplicit : static_cast<std::size_t>(kMostDevices);
  if (gpus <= most) return;
  const std::string why =
      is_explicit ? "the network is no type that a platform has, so it is described link by link: " : "";
  throw InputError(why + "expected at most " + std::to_string(most) + " GPUs, found " + std::to_string(gpus),
                   {place.file, 1, 0, ""}, kPart);
}

}  // namespace

TopoPlatform simai_platform(const SimaiTopology& topology, const std::string& name, const DeviceKind& kind) {
  SimaiGraph graph = graph_of(topology);
  while (join_twins(graph)) {
  }
  TopoPlatform result;
  result.spec.name = name;
  result.spec.device_kinds.push_back(kind);
  result.remarks.push_back("GPUs: of the kind that was given; the file says " + quote(topology.gpu_type));
  if (graph.joined > 0) {
    result.remarks.push_back("switches: " + counted(graph.joined, "switch") +
                             " left out; others with the same links have their bandwidths too");
  }
  if (topology.has_errors) result.remarks.emplace_back("links: error rates are left out");
  auto form = node_form(graph, topology.gpus_per_server);
  const auto gpus = static_cast<std::size_t>(std::ranges::count(topology.nodes, SimaiKind::Gpu));
  check_gpu_count(gpus, !form, topology.links.front().place);
  if (form) {
    result.spec.form = *std::move(form);
  } else {
    result.spec.form = explicit_network(graph, topology.gpus_per_server);
    result.remarks.push_back("nodes: the servers of the first line, " + counted(topology.gpus_per_server, "GPU") +
                             " each; what leads to other servers is between nodes");
    result.remarks.emplace_back("links: a pair of GPUs takes the first of its shortest ways");
  }
  return result;
}

}  // namespace stagecraft
