#include "sim/io/platform_explicit_form.hpp"

#include "sim/base/text.hpp"
#include "sim/io/platform_topology.hpp"
#include "sim/io/yaml_values.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::size_t kMostPaired = 512;  ///< each pair gets links or a route of its own

/// All devices name their node, or none does: what a ring does with a device of no node could only be guessed.
void read_nodes(const std::vector<YamlNode>& devices, ExplicitForm& form) {
  IdsByName<NodeId> by_name;
  for (DeviceId id : indices(form.devices)) {
    const YamlNode& device = devices[id.value()];
    const auto node = device.find("node");
    if (node.has_value() != devices.front().find("node").has_value()) {
      device.fail("expected the key 'node' for all devices or for none, found it for some");
    }
    if (!node) continue;
    const auto [known, is_new] = by_name.emplace(read_key_name(*node), NodeId(form.nodes.size()));
    if (is_new) form.nodes.push_back(known->first);
    form.devices[id].node = known->second;
  }
}

IdsByName<DeviceId> read_devices(const YamlNode& node, const IdsByName<DeviceKindId>& kinds, ExplicitForm& form) {
  IdsByName<DeviceId> by_name;
  const std::vector<YamlNode> items = node.items();
  if (std::ssize(items) > kMostDevices) node.fail("expected at most 100000 devices in all, found more", kPart);
  for (const YamlNode& item : items) {
    item.allow_keys({"name", "kind", "node", "host"});
    ExplicitDevice device;
    device.name = read_key_name(item.at("name"));
    device.kind = find_id(item.at("kind"), "device kind", kinds);
    if (const auto host = item.find("host")) device.host = read_host(*host, false);
    if (by_name.contains(device.name)) {
      item.at("name").fail("the device " + quote(device.name) + " is given twice");
    }
    const std::string name = device.name;
    by_name.emplace(name, form.devices.push_back(std::move(device)));
  }
  if (by_name.empty()) node.fail("expected at least one device, found none");
  read_nodes(items, form);
  return by_name;
}

/// Where links may end, or routes, in the words of a refusal.
struct Ends {
  IdsByName<ExplicitEnd> by_name;
  std::string one = "device";
  std::string several = "devices";
};

Ends device_ends(const IdsByName<DeviceId>& devices) {
  Ends ends;
  for (const auto& [name, device] : devices) ends.by_name.emplace(name, device);
  return ends;
}

/// The ends of links: devices, and the switches of the file.
Ends read_switches(const YamlNode& node, Ends ends, ExplicitForm& form) {
  const std::vector<YamlNode> items = node.items();
  if (form.devices.size() > kMostPaired) {
    node.fail("expected at most 512 devices with switches, found " + std::to_string(form.devices.size()),
              "describe the cluster by node_kinds, nodes and network");
  }
  if (std::ssize(items) > kMostDevices) node.fail("expected at most 100000 switches, found more", kPart);
  for (const YamlNode& item : items) {
    const std::string name = read_name(item);
    const auto [known, is_new] = ends.by_name.emplace(name, SwitchId(form.switches.size()));
    if (!is_new) {
      const bool is_device = std::holds_alternative<DeviceId>(known->second);
      item.fail(is_device ? quote(name) + " is a device" : "the switch " + quote(name) + " is given twice",
                is_device ? "give the switch a name of its own" : "");
    }
    form.switches.push_back(name);
  }
  return {std::move(ends.by_name), "device or switch", "devices or switches"};
}

/// Refuses a switch at which no link ends: it would do nothing.
void require_links_at_switches(const YamlNode& node, const ExplicitForm& form) {
  std::set<ExplicitEnd> linked;
  for (const ExplicitLink& link : form.links) {
    if (link.between) linked.insert({link.between->first, link.between->second});
  }
  for (SwitchId id : indices(form.switches)) {
    if (!linked.contains(id)) {
      node.items()[id.value()].fail("no link ends at the switch " + quote(form.switches[id]),
                                    "give it links: {between: [" + form.switches[id] + ", ...], ...}");
    }
  }
}

using SeenPairs = std::set<std::pair<ExplicitEnd, ExplicitEnd>>;

/// The two ends of a link or route; they may be given once, in either order.
std::pair<ExplicitEnd, ExplicitEnd> read_pair(const YamlNode& node, const Ends& known, SeenPairs& seen) {
  const std::vector<YamlNode> ends = node.items();
  if (ends.size() != 2) node.fail("expected two " + known.several + ", found " + std::to_string(ends.size()));
  const std::string otherwise =
      known.one == "device" ? "; a place without a device stands in the list 'switches' of the platform" : "";
  const ExplicitEnd from = find_id(ends[0], known.one, known.by_name, otherwise);
  const ExplicitEnd to = find_id(ends[1], known.one, known.by_name, otherwise);
  if (from == to) node.fail("expected two different " + known.several + ", found " + quote(ends[0].text()) + " twice");
  if (!seen.emplace(std::min(from, to), std::max(from, to)).second) {
    node.fail("the " + known.several + " " + quote(ends[0].text()) + " and " + quote(ends[1].text()) +
              " are connected twice");
  }
  return {from, to};
}

IdsByName<std::size_t> read_links(const YamlNode& node, const Ends& ends, SeenPairs& pairs, ExplicitForm& form) {
  IdsByName<std::size_t> by_name;
  for (const YamlNode& item : node.items()) {
    item.allow_keys({"name", "between", "bandwidth", "latency", "duplex", "sharing"});
    ExplicitLink link;
    link.link = read_link(item);
    if (const auto between = item.find("between")) link.between = read_pair(*between, ends, pairs);
    if (const auto name = item.find("name")) {
      link.name = read_name(*name);
      if (!by_name.emplace(link.name, form.links.size()).second) {
        name->fail("the link " + quote(link.name) + " is given twice");
      }
    } else if (!link.between) {
      item.fail("expected a link with the key 'name' or 'between', found neither");
    }
    form.links.push_back(std::move(link));
  }
  return by_name;
}

ExplicitRoute read_route(const YamlNode& node, const IdsByName<std::size_t>& links, const Ends& devices,
                         SeenPairs& pairs) {
  node.allow_keys({"between", "links"});
  const auto [from, to] = read_pair(node.at("between"), devices, pairs);
  ExplicitRoute route{std::get<DeviceId>(from), std::get<DeviceId>(to), {}};
  const YamlNode list = node.at("links");
  std::set<std::size_t> seen;
  for (const YamlNode& item : list.items()) {
    route.links.push_back(find_id(item, "link", links));
    if (!seen.insert(route.links.back()).second) item.fail("the link " + quote(item.text()) + " is crossed twice");
  }
  if (route.links.empty()) list.fail("expected at least one link, found none");
  return route;
}

}  // namespace

ExplicitForm read_explicit_form(const YamlNode& root, const IdsByName<DeviceKindId>& device_kinds) {
  ExplicitForm form;
  const Ends devices = device_ends(read_devices(root.at("devices"), device_kinds, form));
  const auto switches = root.find("switches");
  const Ends ends = switches ? read_switches(*switches, devices, form) : devices;
  SeenPairs pairs;
  IdsByName<std::size_t> links;
  if (const auto node = root.find("links")) links = read_links(*node, ends, pairs, form);
  if (switches) require_links_at_switches(*switches, form);
  if (const auto node = root.find("routes")) {
    for (const YamlNode& item : node->items()) form.routes.push_back(read_route(item, links, devices, pairs));
  }
  if (const auto node = root.find("default_link")) {
    form.default_link = read_whole_link(*node);
    if (form.devices.size() > kMostPaired) {
      node->fail("expected at most 512 devices with a default_link, found " + std::to_string(form.devices.size()),
                 "describe the cluster by node_kinds, nodes and network");
    }
  }
  return form;
}

}  // namespace stagecraft
