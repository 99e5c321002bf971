#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/io/platform_names.hpp"
#include "sim/io/yaml_text.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

template <class T>
Detail name_of(const Choices<T>& choices, T value) {
  const auto found = std::ranges::find(choices, value, &std::pair<std::string, T>::second);
  STAGECRAFT_CHECK(found != choices.end(), "a listed choice");
  return found->first;
}

void add_link(Detail::Record& record, const LinkSpec& link) {
  record.emplace_back("bandwidth", format_bandwidth(link.bandwidth));
  record.emplace_back("latency", format_seconds(link.latency));
  record.emplace_back("duplex", name_of(duplex_choices(), link.duplex));
  record.emplace_back("sharing", name_of(sharing_choices(), link.sharing));
}

Detail link_map(const LinkSpec& link) {
  Detail::Record record;
  add_link(record, link);
  return record;
}

Detail speed_value(const DeviceKind& kind) {
  if (kind.other_speeds.empty()) return *kind.speed;
  Detail::Record record;
  if (kind.speed) record.emplace_back(kPlainPrecision, *kind.speed);
  for (const auto& [precision, speed] : kind.other_speeds) record.emplace_back(precision, speed);
  return record;
}

Detail device_kind_record(const DeviceKind& kind) {
  Detail::Record record = {{"memory", format_whole_bytes(kind.memory)}};
  if (kind.speed || !kind.other_speeds.empty()) record.emplace_back("speed", speed_value(kind));
  record.emplace_back("reserved", format_whole_bytes(kind.reserved));
  if (kind.update_bandwidth) record.emplace_back("update_bandwidth", format_bandwidth(*kind.update_bandwidth));
  if (kind.pass_overhead > Seconds(0)) record.emplace_back("pass_overhead", format_seconds(kind.pass_overhead));
  if (kind.update_overhead > Seconds(0)) record.emplace_back("update_overhead", format_seconds(kind.update_overhead));
  if (kind.price) record.emplace_back("price", *kind.price);
  if (!kind.device_file.empty()) record.emplace_back("device_file", kind.device_file);
  return record;
}

Detail host_record(const HostSpec& host) {
  Detail::Record record{{"memory", format_whole_bytes(host.memory)}};
  if (host.link) {
    Detail::Record link;
    add_link(link, *host.link);
    link.emplace_back("shared_by", std::int64_t{host.shared_by});
    record.emplace_back("link", std::move(link));
  }
  return record;
}

void add_cube_mesh(Detail::Record& record, const CubeMeshNode& mesh) {
  Detail::List doubled;
  for (const auto& [a, b] : mesh.doubled) doubled.push_back(Detail::List{std::int64_t{a}, std::int64_t{b}});
  record.emplace_back("doubled", std::move(doubled));
}

void add_pcie(Detail::Record& record, const PcieNode& tree) {
  record.emplace_back("devices_per_switch", std::int64_t{tree.devices_per_switch});
  record.emplace_back("uplink", link_map(tree.uplink));
  if (tree.switches_per_socket == 0) return;
  record.emplace_back("switches_per_socket", std::int64_t{tree.switches_per_socket});
  const bool is_joined = tree.socket_link.bandwidth > BytesPerSecond(0);
  if (is_joined) record.emplace_back("socket_link", link_map(tree.socket_link));
}

Detail interconnect_record(const Interconnect& interconnect) {
  Detail::Record record = {{"type", type_name(interconnect)}};
  add_link(record, interconnect.link);
  if (const auto* mesh = std::get_if<CubeMeshNode>(&interconnect.shape)) add_cube_mesh(record, *mesh);
  if (const auto* tree = std::get_if<PcieNode>(&interconnect.shape)) add_pcie(record, *tree);
  return record;
}

void add_fat_tree(Detail::Record& record, const FatTreeNetwork& tree) {
  if (tree.port) add_link(record, *tree.port);
  Detail::List levels;
  for (const FatTreeLevel& level : tree.levels) {
    levels.push_back(Detail::Record{{"children", std::int64_t{level.children}},
                                    {"oversubscription", level.oversubscription},
                                    {"uplinks", std::int64_t{level.uplinks}},
                                    {"latency", format_seconds(level.latency)}});
  }
  record.emplace_back("levels", std::move(levels));
}

void add_torus(Detail::Record& record, const TorusNetwork& torus) {
  add_link(record, torus.link);
  if (torus.sizes.size() == 1) return;  // a ring of all nodes
  Detail::List sizes;
  for (std::uint32_t size : torus.sizes) sizes.emplace_back(std::int64_t{size});
  record.emplace_back("sizes", std::move(sizes));
}

void add_dragonfly(Detail::Record& record, const DragonflyNetwork& dragonfly) {
  record.emplace_back("routers_per_group", std::int64_t{dragonfly.routers_per_group});
  record.emplace_back("nodes_per_router", std::int64_t{dragonfly.nodes_per_router});
  add_link(record, dragonfly.local_link);
  record.emplace_back("global_bandwidth", format_bandwidth(dragonfly.global_link.bandwidth));
  record.emplace_back("global_latency", format_seconds(dragonfly.global_link.latency));
}

Detail network_record(const Network& network) {
  Detail::Record record = {{"type", type_name(network)}};
  if (const auto* switched = std::get_if<SwitchedNetwork>(&network)) {
    if (switched->port) add_link(record, *switched->port);
  } else if (const auto* full = std::get_if<FullNetwork>(&network)) {
    add_link(record, full->link);
  } else if (const auto* torus = std::get_if<TorusNetwork>(&network)) {
    add_torus(record, *torus);
  } else if (const auto* tree = std::get_if<FatTreeNetwork>(&network)) {
    add_fat_tree(record, *tree);
  } else if (const auto* rails = std::get_if<RailsNetwork>(&network)) {
    add_link(record, rails->uplink);
  } else {
    add_dragonfly(record, std::get<DragonflyNetwork>(network));
  }
  return record;
}

Detail node_kind_record(const NodeKind& kind, const PlatformSpec& spec) {
  const std::string& device_kind = spec.device_kinds[kind.device_kind].name;
  Detail::Record record = {
      {"devices", Detail::Record{{"kind", device_kind}, {"count", std::int64_t{kind.device_count}}}}};
  if (kind.interconnect) record.emplace_back("interconnect", interconnect_record(*kind.interconnect));
  if (kind.host) record.emplace_back("host", host_record(*kind.host));
  if (kind.nic) {
    Detail::Record link;
    add_link(link, kind.nic->link);
    if (kind.nic->shared_by > 1) {
      link.emplace_back("shared_by", std::int64_t{kind.nic->shared_by});
    } else {
      link.emplace_back("per", kind.nic->per_device ? "device" : "node");
    }
    record.emplace_back("nic", std::move(link));
  }
  return record;
}

void add_node_form(Detail::Record& root, const NodeForm& form, const PlatformSpec& spec) {
  Detail::Record kinds;
  for (const NodeKind& kind : form.node_kinds) kinds.emplace_back(kind.name, node_kind_record(kind, spec));
  root.emplace_back("node_kinds", std::move(kinds));
  Detail::List groups;
  for (const NodeGroup& group : form.groups) {
    groups.push_back(Detail::Record{{"kind", form.node_kinds[group.kind].name}, {"count", std::int64_t{group.count}}});
  }
  root.emplace_back("nodes", std::move(groups));
  root.emplace_back("network", network_record(form.network));
}

Detail pair_list(const ExplicitForm& form, const ExplicitEnd& from, const ExplicitEnd& to) {
  Detail::List names;
  for (const ExplicitEnd& end : {from, to}) {
    const auto* device = std::get_if<DeviceId>(&end);
    names.emplace_back(device != nullptr ? form.devices[*device].name : form.switches[std::get<SwitchId>(end)]);
  }
  return names;
}

Detail link_record(const ExplicitForm& form, const ExplicitLink& link) {
  Detail::Record record;
  if (!link.name.empty()) record.emplace_back("name", link.name);
  if (link.between) record.emplace_back("between", pair_list(form, link.between->first, link.between->second));
  add_link(record, link.link);
  return record;
}

Detail route_record(const ExplicitForm& form, const ExplicitRoute& route) {
  Detail::List links;
  for (std::size_t link : route.links) links.push_back(form.links[link].name);
  return Detail::Record{{"between", pair_list(form, route.from, route.to)}, {"links", std::move(links)}};
}

void add_explicit_form(Detail::Record& root, const ExplicitForm& form, const PlatformSpec& spec) {
  Detail::List devices;
  for (const ExplicitDevice& device : form.devices) {
    Detail::Record record = {{"name", device.name}, {"kind", spec.device_kinds[device.kind].name}};
    if (!device.node.is_none()) record.emplace_back("node", form.nodes[device.node]);
    if (device.host) record.emplace_back("host", host_record(*device.host));
    devices.push_back(std::move(record));
  }
  root.emplace_back("devices", std::move(devices));
  if (!form.switches.empty()) {
    Detail::List switches;
    for (const std::string& name : form.switches) switches.emplace_back(name);
    root.emplace_back("switches", std::move(switches));
  }
  Detail::List links;
  for (const ExplicitLink& link : form.links) links.push_back(link_record(form, link));
  root.emplace_back("links", std::move(links));
  Detail::List routes;
  for (const ExplicitRoute& route : form.routes) routes.push_back(route_record(form, route));
  root.emplace_back("routes", std::move(routes));
  if (!form.default_link) return;
  root.emplace_back("default_link", link_map(*form.default_link));
}

Detail::Record collectives_record(const CollectiveSpec& spec) {
  Detail::Record record;
  if (!spec.table.empty()) {
    Detail::List rows;
    for (const auto& [size, bandwidth] : spec.table) {
      rows.emplace_back(Detail::List{format_bytes(size), format_bandwidth(bandwidth)});
    }
    record.emplace_back("table", std::move(rows));
    if (spec.overlap > 0.0) record.emplace_back("overlap", spec.overlap);
    return record;
  }
  record.emplace_back("algorithm", name_of(algorithm_choices(), spec.algorithm));
  if (spec.network_efficiency) {
    record.emplace_back("efficiency", Detail::Record{{"node", spec.efficiency}, {"network", *spec.network_efficiency}});
  } else {
    record.emplace_back("efficiency", spec.efficiency);
  }
  if (spec.rings) record.emplace_back("rings", *spec.rings);
  if (spec.latency > Seconds(0)) record.emplace_back("latency", format_seconds(spec.latency));
  if (spec.overlap > 0.0) record.emplace_back("overlap", spec.overlap);
  return record;
}

Detail::Record origins_record(const PlatformOrigins& origins) {
  return {{"links", to_string(origins.links)},
          {"collectives", to_string(origins.collectives)},
          {"updates", to_string(origins.updates)}};
}

}  // namespace

Detail::Record platform_record(const PlatformSpec& spec) {
  Detail::Record root = {{"schema", "stagecraft/platform/1"}, {"platform", spec.name}};
  if (spec.origins != PlatformOrigins{}) root.emplace_back("origin", origins_record(spec.origins));
  if (spec.transport != Transport::Direct) {
    root.emplace_back("transport", name_of(transport_choices(), spec.transport));
  }
  Detail::Record kinds;
  for (const DeviceKind& kind : spec.device_kinds) kinds.emplace_back(kind.name, device_kind_record(kind));
  root.emplace_back("device_kinds", std::move(kinds));
  if (const auto* nodes = std::get_if<NodeForm>(&spec.form)) {
    add_node_form(root, *nodes, spec);
  } else {
    add_explicit_form(root, std::get<ExplicitForm>(spec.form), spec);
  }
  if (spec.collectives != CollectiveSpec{}) root.emplace_back("collectives", collectives_record(spec.collectives));
  return root;
}

std::string write_platform(const PlatformSpec& spec) { return to_yaml(platform_record(spec)); }

}  // namespace stagecraft
