#include "sim/model/platform.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <set>

namespace stagecraft {
namespace {

/// Appends the link, or the two directions of a full-duplex one; returns the first.
LinkId add_link(Platform& platform, const LinkSpec& spec, const std::string& forward, const std::string& backward,
                const std::string& shared) {
  const bool half = spec.duplex == Duplex::Half;
  const LinkId first = platform.links.push_back({half ? shared : forward, spec.bandwidth, spec.latency, spec.sharing});
  if (!half) platform.links.push_back({backward, spec.bandwidth, spec.latency, spec.sharing});
  return first;
}

LinkId up_link(const LinkSpec& spec, LinkId first, std::uint32_t i) {
  return LinkId(first.value() + (spec.duplex == Duplex::Half ? i : 2 * i));
}
LinkId down_link(const LinkSpec& spec, LinkId first, std::uint32_t i) {
  return LinkId(first.value() + (spec.duplex == Duplex::Half ? i : 2 * i + 1));
}

void add_host_links(Platform& platform, const NodeKind& kind, const Node& node) {
  if (!kind.host) return;
  const HostSpec& host = *kind.host;
  LinkId first = LinkId::none();
  for (std::uint32_t i = 0; i < kind.device_count; ++i) {
    if (i % host.shared_by == 0) {
      const std::string name = platform.hosts[node.host].name + ".link" + std::to_string(i / host.shared_by);
      first = add_link(platform, host.link, name + ".up", name + ".down", name);
    }
    Device& device = platform.devices[DeviceId(node.first_device.value() + i)];
    device.host = node.host;
    device.to_host = up_link(host.link, first, 0);
    device.from_host = down_link(host.link, first, 0);
  }
}

void add_node(Platform& platform, NodeKindId kind_id, const NodeKind& kind) {
  Node node{kind_id, DeviceId(platform.devices.size()), HostId::none(), LinkId::none(), LinkId::none()};
  const NodeId node_id(platform.nodes.size());
  const std::string node_name = "node" + std::to_string(node_id.value());
  for (std::uint32_t i = 0; i < kind.device_count; ++i) {
    platform.devices.push_back({"gpu" + std::to_string(platform.devices.size()), kind.device_kind, node_id,
                                HostId::none(), LinkId::none(), LinkId::none()});
  }
  if (kind.interconnect) {
    node.first_interconnect_link = LinkId(platform.links.size());
    for (std::uint32_t i = 0; i < kind.device_count; ++i) {
      const std::string& name = platform.devices[DeviceId(node.first_device.value() + i)].name;
      add_link(platform, kind.interconnect->link, name + ".up", name + ".down", name + ".link");
    }
  }
  if (kind.nic) {
    node.first_nic_link = LinkId(platform.links.size());
    for (std::uint32_t i = 0; i < (kind.nic->per_device ? kind.device_count : 1); ++i) {
      const std::string name = kind.nic->per_device
                                   ? platform.devices[DeviceId(node.first_device.value() + i)].name + ".nic"
                                   : node_name + ".nic";
      add_link(platform, kind.nic->link, name + ".up", name + ".down", name);
    }
  }
  if (kind.host) {
    node.host = platform.hosts.push_back({"host" + std::to_string(platform.hosts.size()), kind.host->memory});
  }
  add_host_links(platform, kind, node);
  platform.nodes.push_back(node);
}

void build_nodes(Platform& platform, const NodeForm& form) {
  if (form.network != NetworkType::Switch) {
    throw InputError(std::string("network type '") + to_string(form.network) + "' is not supported yet",
                     {{}, 0, 0, "network.type"}, "use 'switch'");
  }
  for (const NodeKind& kind : form.node_kinds) {
    if (kind.interconnect && kind.interconnect->type != InterconnectType::Switch) {
      throw InputError(
          std::string("interconnect type '") + to_string(kind.interconnect->type) + "' is not supported yet",
          {{}, 0, 0, "node_kinds." + kind.name + ".interconnect.type"}, "use 'switch'");
    }
  }
  for (const NodeGroup& group : form.groups) {
    for (std::uint32_t i = 0; i < group.count; ++i) add_node(platform, group.kind, form.node_kinds[group.kind]);
  }
}

void build_explicit_devices(Platform& platform, const ExplicitForm& form) {
  for (const ExplicitDevice& spec : form.devices) {
    Device device{spec.name, spec.kind, NodeId::none(), HostId::none(), LinkId::none(), LinkId::none()};
    if (spec.host) {
      const std::string name = spec.name + ".host";
      device.host = platform.hosts.push_back({name, spec.host->memory});
      const LinkId first = add_link(platform, spec.host->link, name + ".up", name + ".down", name + ".link");
      device.to_host = up_link(spec.host->link, first, 0);
      device.from_host = down_link(spec.host->link, first, 0);
    }
    platform.devices.push_back(std::move(device));
  }
}

/// Enters a way and its reverse; each link is crossed in its own direction.
void add_way(Platform& platform, DeviceId a, DeviceId b, const std::vector<LinkId>& forward,
             const std::vector<LinkId>& reverse) {
  platform.routes[{a, b}] = forward;
  platform.routes[{b, a}] = reverse;
}

void add_pair_link(Platform& platform, DeviceId a, DeviceId b, const std::string& name, const LinkSpec& link) {
  const std::string& from = platform.devices[a].name;
  const std::string& to = platform.devices[b].name;
  const LinkId first = name.empty() ? add_link(platform, link, from + "->" + to, to + "->" + from, from + "<->" + to)
                                    : add_link(platform, link, name + ".forward", name + ".reverse", name);
  add_way(platform, a, b, {up_link(link, first, 0)}, {down_link(link, first, 0)});
}

/// A link between two devices is crossed in the direction in which the route passes them; a link that is only named, in
/// its forward direction.
void add_route(Platform& platform, const ExplicitForm& form, const ExplicitRoute& route,
               const std::vector<LinkId>& first_of) {
  std::vector<LinkId> forward;
  std::vector<LinkId> reverse;
  DeviceId at = route.from;  // none behind a link that is only named
  for (std::size_t position : route.links) {
    const ExplicitLink& link = form.links[position];
    const bool is_last = position == route.links.back();
    const bool backwards =
        link.between && (link.between->second == at || (at.is_none() && is_last && link.between->first == route.to));
    at = link.between ? (backwards ? link.between->first : link.between->second) : DeviceId::none();
    const LinkId up = up_link(link.link, first_of[position], 0);
    const LinkId down = down_link(link.link, first_of[position], 0);
    forward.push_back(backwards ? down : up);
    reverse.insert(reverse.begin(), backwards ? up : down);
  }
  add_way(platform, route.from, route.to, forward, reverse);
}

void build_explicit(Platform& platform, const ExplicitForm& form) {
  build_explicit_devices(platform, form);
  std::vector<LinkId> first_of(form.links.size());
  for (std::size_t i = 0; i < form.links.size(); ++i) {
    const ExplicitLink& link = form.links[i];
    first_of[i] = LinkId(platform.links.size());
    if (link.between) {
      add_pair_link(platform, link.between->first, link.between->second, link.name, link.link);
    } else {
      add_link(platform, link.link, link.name + ".forward", link.name + ".reverse", link.name);
    }
  }
  for (const ExplicitRoute& route : form.routes) add_route(platform, form, route, first_of);
  if (!form.default_link) return;
  for (DeviceId a : indices(form.devices)) {
    for (DeviceId b(a.value() + 1); b.value() < form.devices.size(); ++b) {
      if (!platform.routes.contains({a, b})) add_pair_link(platform, a, b, "", *form.default_link);
    }
  }
}

void cross(const Platform& platform, LinkId link, Route& into) {
  into.links.push_back(link);
  into.latency += platform.links[link].latency;
}

bool route_between_nodes(const Platform& platform, const NodeForm& form, DeviceId from, DeviceId to, Route& into) {
  const Node& source = platform.nodes[platform.devices[from].node];
  const Node& target = platform.nodes[platform.devices[to].node];
  const std::optional<NicSpec>& out = form.node_kinds[source.kind].nic;
  const std::optional<NicSpec>& in = form.node_kinds[target.kind].nic;
  if (!out || !in) return false;
  const std::uint32_t out_index = out->per_device ? from.value() - source.first_device.value() : 0;
  const std::uint32_t in_index = in->per_device ? to.value() - target.first_device.value() : 0;
  cross(platform, up_link(out->link, source.first_nic_link, out_index), into);
  cross(platform, down_link(in->link, target.first_nic_link, in_index), into);
  return true;
}

bool route_in_node_form(const Platform& platform, const NodeForm& form, DeviceId from, DeviceId to, Route& into) {
  const NodeId node_id = platform.devices[from].node;
  if (node_id != platform.devices[to].node) return route_between_nodes(platform, form, from, to, into);
  const Node& node = platform.nodes[node_id];
  const std::optional<Interconnect>& interconnect = form.node_kinds[node.kind].interconnect;
  if (!interconnect) return false;
  const std::uint32_t a = from.value() - node.first_device.value();
  const std::uint32_t b = to.value() - node.first_device.value();
  cross(platform, up_link(interconnect->link, node.first_interconnect_link, a), into);
  cross(platform, down_link(interconnect->link, node.first_interconnect_link, b), into);
  return true;
}

bool route_between_devices(const Platform& platform, DeviceId from, DeviceId to, Route& into) {
  if (const auto* form = std::get_if<NodeForm>(&platform.spec.form)) {
    return route_in_node_form(platform, *form, from, to, into);
  }
  const auto found = platform.routes.find({from, to});
  if (found == platform.routes.end()) return false;
  for (LinkId link : found->second) cross(platform, link, into);
  return true;
}

/// One device of each role a pair can play: enough to see every bandwidth of the node form.
std::vector<DeviceId> representatives(const Platform& platform) {
  std::vector<DeviceId> result;
  if (std::holds_alternative<ExplicitForm>(platform.spec.form)) {
    for (DeviceId device : indices(platform.devices)) result.push_back(device);
    return result;
  }
  std::map<NodeKindId, int> seen;
  for (const Node& node : platform.nodes) {
    if (++seen[node.kind] > 2) continue;
    const auto& kind = std::get<NodeForm>(platform.spec.form).node_kinds[node.kind];
    for (std::uint32_t i = 0; i < std::min(kind.device_count, 2U); ++i) {
      result.emplace_back(node.first_device.value() + i);
    }
  }
  return result;
}

std::optional<double> speed_of(const Platform& platform, const std::string& kind) {
  const auto given = platform.spec.speeds.find(kind);
  if (given != platform.spec.speeds.end()) return given->second;
  for (const DeviceKind& known : platform.spec.device_kinds) {
    if (known.name == kind) return known.speed;
  }
  return std::nullopt;
}

bool is_uniform_cluster(const Platform& platform) {
  const auto* form = std::get_if<NodeForm>(&platform.spec.form);
  if (form == nullptr) return false;
  std::set<NodeKindId> kinds;
  for (const NodeGroup& group : form->groups) kinds.insert(group.kind);
  return kinds.size() == 1;
}

}  // namespace

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

bool find_route(const Platform& platform, PlaceId from, PlaceId to, Route& into) {
  into.links.clear();
  into.latency = Seconds(0);
  if (from == to) return true;
  const bool from_device = platform.is_device(from);
  const bool to_device = platform.is_device(to);
  if (from_device && to_device) {
    return route_between_devices(platform, platform.device(from), platform.device(to), into);
  }
  if (from_device == to_device) return false;  // hosts are not connected to each other
  const Device& device = platform.devices[platform.device(from_device ? from : to)];
  const HostId host = platform.host(from_device ? to : from);
  if (device.host != host) return false;
  cross(platform, from_device ? device.to_host : device.from_host, into);
  return true;
}

std::optional<BytesPerSecond> pair_bandwidth(const Platform& platform, DeviceId a, DeviceId b) {
  Route route;
  if (!find_route(platform, platform.place(a), platform.place(b), route) || route.links.empty()) return std::nullopt;
  BytesPerSecond smallest = platform.links[route.links.front()].bandwidth;
  for (LinkId link : route.links) smallest = std::min(smallest, platform.links[link].bandwidth);
  return smallest;
}

std::optional<BytesPerSecond> smallest_pair_bandwidth(const Platform& platform) {
  std::optional<BytesPerSecond> smallest;
  const std::vector<DeviceId> devices = representatives(platform);
  for (DeviceId a : devices) {
    for (DeviceId b : devices) {
      if (a == b) continue;
      const std::optional<BytesPerSecond> bandwidth = pair_bandwidth(platform, a, b);
      if (!bandwidth) return std::nullopt;
      smallest = smallest ? std::min(*smallest, *bandwidth) : *bandwidth;
    }
  }
  return smallest;
}

std::vector<Level> levels(const Platform& platform) {
  const auto device_count = static_cast<std::uint32_t>(platform.devices.size());
  if (device_count <= 1) return {};
  const std::optional<BytesPerSecond> smallest = smallest_pair_bandwidth(platform);
  if (!smallest) {
    throw InputError("some devices of platform '" + platform.spec.name + "' are not connected", {},
                     "add links, routes, a default_link, an interconnect or a nic");
  }
  if (!is_uniform_cluster(platform)) return {{device_count, *smallest}};
  const auto& form = std::get<NodeForm>(platform.spec.form);
  const NodeKind& kind = form.node_kinds[platform.nodes[NodeId(0)].kind];
  std::vector<Level> result;
  if (kind.device_count > 1) result.push_back({kind.device_count, kind.interconnect->link.bandwidth});
  if (platform.nodes.size() > 1) {
    result.push_back({static_cast<std::uint32_t>(platform.nodes.size()), kind.nic->link.bandwidth});
  }
  return result;
}

std::optional<double> time_factor(const Platform& platform, const std::string& profile_device, DeviceKindId kind) {
  const DeviceKind& target = platform.spec.device_kinds[kind];
  if (target.name == profile_device) return 1.0;
  const std::optional<double> from = speed_of(platform, profile_device);
  const std::optional<double> to = speed_of(platform, target.name);
  if (!from || !to) return std::nullopt;
  return *from / *to;
}

double require_time_factor(const Platform& platform, const std::string& profile_device, DeviceId device) {
  const DeviceKind& kind = platform.kind(device);
  const std::optional<double> factor = time_factor(platform, profile_device, platform.devices[device].kind);
  if (factor) return *factor;
  const bool profile_known = speed_of(platform, profile_device).has_value();
  const std::string& missing = profile_known ? kind.name : profile_device;
  throw InputError("the profile was taken on '" + profile_device + "' and the platform has '" + kind.name +
                       "', but the speed of '" + missing + "' is not known",
                   {}, "give it with --speed " + missing + "=X, relative to the platform's other kinds");
}

const char* to_string(InterconnectType type) {
  switch (type) {
    case InterconnectType::Switch: return "switch";
    case InterconnectType::Full: return "full";
    case InterconnectType::Ring: return "ring";
    case InterconnectType::CubeMesh: return "cube-mesh";
    case InterconnectType::Pcie: return "pcie";
  }
  return "?";
}

const char* to_string(NetworkType type) {
  switch (type) {
    case NetworkType::Switch: return "switch";
    case NetworkType::Full: return "full";
    case NetworkType::Ring: return "ring";
    case NetworkType::Torus: return "torus";
    case NetworkType::FatTree: return "fat-tree";
    case NetworkType::Dragonfly: return "dragonfly";
  }
  return "?";
}

}  // namespace stagecraft
