#include "sim/io/platform_file.hpp"

#include "sim/base/counted.hpp"
#include "sim/io/ids_by_name.hpp"
#include "sim/io/platform_explicit_form.hpp"
#include "sim/io/platform_names.hpp"
#include "sim/io/platform_topology.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_values.hpp"

#include <utility>
#include <variant>

namespace stagecraft {
namespace {

constexpr double kLeastSpeed = 1e-6;
constexpr double kMostSpeed = 1e6;
constexpr Seconds kLongestOverhead(1e3);
constexpr double kMostPrice = 1e9;  ///< in any currency
constexpr double kLeastEfficiency = 1e-3;
constexpr std::int64_t kMostRings = 64;

double read_speed(const YamlNode& node) {
  const double speed = read_number(node);
  if (speed < kLeastSpeed || speed > kMostSpeed) node.fail_expected("a number from 1e-6 to 1e6");
  return speed;
}

/// One number, or one for each precision.
void read_speeds(const YamlNode& node, DeviceKind& kind) {
  if (node.kind() != YamlKind::Map) {
    kind.speed = read_speed(node);
    return;
  }
  node.allow_keys({kPrecisions[0], kPrecisions[1], kPrecisions[2], kPrecisions[3], kPrecisions[4]});
  for (const auto& [precision, value] : node.entries()) {
    if (precision == kPlainPrecision) {
      kind.speed = read_speed(value);
    } else {
      kind.other_speeds[precision] = read_speed(value);
    }
  }
}

Seconds read_overhead(const YamlNode& node) {
  const Seconds overhead = read_seconds(node);
  if (overhead > kLongestOverhead) node.fail_expected("a time of at most 1000 s");
  return overhead;
}

double read_price(const YamlNode& node) {
  const double price = read_number(node);
  if (price < 0.0 || price > kMostPrice) node.fail_expected("a number from 0 to 1e9, the price of a device and hour");
  return price;
}

DeviceKind read_device_kind(const std::string& name, const YamlNode& node) {
  node.allow_keys(
      {"memory", "speed", "reserved", "update_bandwidth", "pass_overhead", "update_overhead", "price", "device_file"});
  DeviceKind kind;
  kind.name = name;
  const YamlNode memory = node.at("memory");
  kind.memory = read_bytes(memory);
  if (kind.memory == Bytes(0)) memory.fail_expected("a size of more than zero");
  if (const auto speed = node.find("speed")) read_speeds(*speed, kind);
  if (const auto reserved = node.find("reserved")) {
    kind.reserved = read_bytes(*reserved);
    if (kind.reserved > kind.memory) {
      reserved->fail_expected("at most the kind's memory, " + format_whole_bytes(kind.memory));
    }
  }
  if (const auto update = node.find("update_bandwidth")) kind.update_bandwidth = read_usable_bandwidth(*update);
  if (const auto overhead = node.find("pass_overhead")) kind.pass_overhead = read_overhead(*overhead);
  if (const auto overhead = node.find("update_overhead")) kind.update_overhead = read_overhead(*overhead);
  if (const auto price = node.find("price")) kind.price = read_price(*price);
  if (const auto file = node.find("device_file")) kind.device_file = read_name(*file);
  return kind;
}

IdsByName<DeviceKindId> read_device_kinds(const YamlNode& node, PlatformSpec& spec) {
  IdsByName<DeviceKindId> by_name;
  for (const auto& [name, value] : node.entries()) {
    by_name.emplace(name, spec.device_kinds.push_back(read_device_kind(name, value)));
  }
  if (by_name.empty()) node.fail("expected at least one device kind, found none");
  return by_name;
}

NicSpec read_nic(const YamlNode& node, std::uint32_t device_count) {
  node.allow_keys({"bandwidth", "latency", "duplex", "sharing", "per", "shared_by"});
  const auto per = node.find("per");
  const auto shared = node.find("shared_by");
  if (per && shared) {
    per->fail("expected either 'per' or 'shared_by', found both",
              "'per: device' is 'shared_by: 1', and 'per: node' is one NIC for all devices");
  }
  const LinkSpec link = read_link(node);
  if (!shared) return {link, per && read_choice<bool>(*per, {{"node", false}, {"device", true}})};
  const auto sharers = static_cast<std::uint32_t>(read_count(*shared, 1, kMostDevices));
  if (device_count % sharers != 0) {
    shared->fail_expected("a divisor of the node's " + counted(device_count, "device"));
  }
  return {link, true, sharers};
}

NodeKind read_node_kind(const std::string& name, const YamlNode& node, const IdsByName<DeviceKindId>& device_kinds) {
  node.allow_keys({"devices", "interconnect", "host", "nic"});
  NodeKind kind;
  kind.name = name;
  const YamlNode devices = node.at("devices");
  devices.allow_keys({"kind", "count"});
  kind.device_kind = find_id(devices.at("kind"), "device kind", device_kinds);
  kind.device_count = static_cast<std::uint32_t>(read_count(devices.at("count"), 1, kMostDevices));
  if (const auto interconnect = node.find("interconnect")) {
    kind.interconnect = read_interconnect(*interconnect, kind.device_count);
  }
  const bool has_tree = kind.interconnect && std::holds_alternative<PcieNode>(kind.interconnect->shape);
  if (const auto host = node.find("host")) kind.host = read_host(*host, has_tree);
  if (const auto nic = node.find("nic")) kind.nic = read_nic(*nic, kind.device_count);
  return kind;
}

NodeGroup read_group(const YamlNode& node, const IdsByName<NodeKindId>& node_kinds) {
  node.allow_keys({"kind", "count"});
  return {find_id(node.at("kind"), "node kind", node_kinds),
          static_cast<std::uint32_t>(read_count(node.at("count"), 1, kMostDevices))};
}

void read_groups(const YamlNode& nodes, const IdsByName<NodeKindId>& node_kinds, NodeForm& form) {
  if (nodes.kind() == YamlKind::List) {
    for (const YamlNode& item : nodes.items()) form.groups.push_back(read_group(item, node_kinds));
  } else {
    form.groups.push_back(read_group(nodes, node_kinds));
  }
  if (form.groups.empty()) nodes.fail("expected at least one node, found none");
  std::int64_t device_count = 0;
  for (const NodeGroup& group : form.groups) {
    device_count += std::int64_t{group.count} * form.node_kinds[group.kind].device_count;
    if (device_count > kMostDevices) nodes.fail("expected at most 100000 devices in all, found more", kPart);
  }
}

NodeForm read_node_form(const YamlNode& root, const IdsByName<DeviceKindId>& device_kinds) {
  NodeForm form;
  IdsByName<NodeKindId> node_kinds;
  for (const auto& [name, value] : root.at("node_kinds").entries()) {
    node_kinds.emplace(name, form.node_kinds.push_back(read_node_kind(name, value, device_kinds)));
  }
  const YamlNode nodes = root.at("nodes");
  read_groups(nodes, node_kinds, form);
  if (const auto network = root.find("network")) {
    std::uint32_t node_count = 0;
    for (const NodeGroup& group : form.groups) node_count += group.count;
    form.network = read_network(*network, node_count);
    check_network(*network, form);
  }
  const std::uint64_t links = count_links(form);
  if (links > kMostLinks) {
    nodes.fail("expected at most 400000 links in all, found " + std::to_string(links),
               "describe a part of the cluster, or join it by fewer links than one for each pair");
  }
  return form;
}

/// Rows `[size, bandwidth]` of increasing sizes.
std::vector<std::pair<Bytes, BytesPerSecond>> read_bandwidths(const YamlNode& node) {
  std::vector<std::pair<Bytes, BytesPerSecond>> table;
  for (const YamlNode& row : node.items()) {
    const std::vector<YamlNode> cells = row.items();
    if (cells.size() != 2) row.fail("expected a size and a bandwidth, found " + counted(cells.size(), "value"));
    table.emplace_back(read_bytes(cells[0]), read_usable_bandwidth(cells[1]));
    if (table.size() > 1 && table.back().first <= table[table.size() - 2].first) {
      cells[0].fail("expected a size larger than that of the row before");
    }
  }
  if (table.empty()) node.fail("expected at least one row, found none");
  return table;
}

double read_link_share(const YamlNode& node) {
  const double share = read_number(node);
  if (share < kLeastEfficiency || share > 1.0) node.fail_expected("a number from 0.001 to 1");
  return share;
}

double read_part(const YamlNode& node) {
  const double part = read_number(node);
  if (part < 0.0 || part > 1.0) node.fail_expected("a number from 0 to 1");
  return part;
}

/// One share of all links, or one inside nodes and one between them.
void read_link_shares(const YamlNode& node, CollectiveSpec& spec) {
  if (node.kind() != YamlKind::Map) {
    spec.efficiency = read_link_share(node);
    return;
  }
  node.allow_keys({"node", "network"});
  spec.network_efficiency = 1.0;
  if (const auto inside = node.find("node")) spec.efficiency = read_link_share(*inside);
  if (const auto between = node.find("network")) spec.network_efficiency = read_link_share(*between);
}

CollectiveSpec read_collectives(const YamlNode& node) {
  node.allow_keys({"algorithm", "efficiency", "rings", "latency", "overlap", "table"});
  CollectiveSpec spec;
  if (const auto table = node.find("table")) {
    for (const char* key : {"algorithm", "efficiency", "rings", "latency"}) {
      const auto other = node.find(key);
      if (other) other->fail("a table of bandwidths takes the place of " + quote(key));
    }
    spec.table = read_bandwidths(*table);
  }
  if (const auto algorithm = node.find("algorithm")) {
    spec.algorithm = read_choice<CollectiveSpec::Algorithm>(*algorithm, algorithm_choices());
  }
  if (const auto efficiency = node.find("efficiency")) read_link_shares(*efficiency, spec);
  if (const auto latency = node.find("latency")) spec.latency = read_overhead(*latency);
  if (const auto rings = node.find("rings")) spec.rings = read_count(*rings, 1, kMostRings);
  if (const auto overlap = node.find("overlap")) spec.overlap = read_part(*overlap);
  return spec;
}

/// Refuses boundary tensors that pass through host memory where some device has no host.
void require_hosts(const YamlNode& transport, const PlatformSpec& spec) {
  const auto refuse = [&](const std::string& where) {
    transport.fail("with transport 'host' every device needs a host, but " + where + " has none",
                   "give it a host with its memory and its link, or use the transport 'direct'");
  };
  if (const auto* nodes = std::get_if<NodeForm>(&spec.form)) {
    for (const NodeGroup& group : nodes->groups) {
      const NodeKind& kind = nodes->node_kinds[group.kind];
      if (!kind.host) refuse("the node kind " + quote(kind.name));
    }
    return;
  }
  for (const ExplicitDevice& device : std::get<ExplicitForm>(spec.form).devices) {
    if (!device.host) refuse("the device " + quote(device.name));
  }
}

PlatformOrigins read_origins(const YamlNode& node) {
  node.allow_keys({"links", "collectives", "updates"});
  PlatformOrigins origins;
  if (const auto links = node.find("links")) origins.links = read_choice(*links, stated_origins());
  if (const auto collectives = node.find("collectives")) {
    origins.collectives = read_choice(*collectives, stated_origins());
  }
  if (const auto updates = node.find("updates")) origins.updates = read_choice(*updates, stated_origins());
  return origins;
}

}  // namespace

PlatformSpec parse_platform(std::string_view text, const std::string& file_name) {
  const YamlNode root = parse_yaml(text, file_name);
  check_schema(root, "stagecraft/platform/1");
  const bool is_explicit = root.find("devices").has_value();
  if (is_explicit) {
    root.allow_keys({"schema", "platform", "origin", "transport", "device_kinds", "devices", "switches", "links",
                     "routes", "default_link", "collectives"});
  } else {
    root.allow_keys({"schema", "platform", "origin", "transport", "device_kinds", "node_kinds", "nodes", "network",
                     "devices", "collectives"});
  }
  PlatformSpec spec;
  spec.name = read_name(root.at("platform"));
  if (const auto origin = root.find("origin")) spec.origins = read_origins(*origin);
  const IdsByName<DeviceKindId> device_kinds = read_device_kinds(root.at("device_kinds"), spec);
  if (is_explicit) {
    spec.form = read_explicit_form(root, device_kinds);
  } else {
    spec.form = read_node_form(root, device_kinds);
  }
  if (const auto transport = root.find("transport")) {
    spec.transport = read_choice(*transport, transport_choices());
    if (spec.transport == Transport::Host) require_hosts(*transport, spec);
  }
  if (const auto collectives = root.find("collectives")) spec.collectives = read_collectives(*collectives);
  return spec;
}

PlatformSpec read_platform_file(const std::string& path) { return parse_platform(read_text_file(path), path); }

}  // namespace stagecraft
