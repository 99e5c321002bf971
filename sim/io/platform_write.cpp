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

Detail device_kind_record(const DeviceKind& kind) {
  Detail::Record record = {{"memory", format_whole_bytes(kind.memory)}};
  if (kind.speed) record.emplace_back("speed", *kind.speed);
  record.emplace_back("reserved", format_whole_bytes(kind.reserved));
  if (kind.update_bandwidth) record.emplace_back("update_bandwidth", format_bandwidth(*kind.update_bandwidth));
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

Detail node_kind_record(const NodeKind& kind, const PlatformSpec& spec) {
  const std::string& device_kind = spec.device_kinds[kind.device_kind].name;
  Detail::Record record = {
      {"devices", Detail::Record{{"kind", device_kind}, {"count", std::int64_t{kind.device_count}}}}};
  if (kind.interconnect) {
    Detail::Record link = {{"type", type_name(*kind.interconnect)}};
    add_link(link, kind.interconnect->link);
    record.emplace_back("interconnect", std::move(link));
  }
  if (kind.host) record.emplace_back("host", host_record(*kind.host));
  if (kind.nic) {
    Detail::Record link;
    add_link(link, kind.nic->link);
    link.emplace_back("per", kind.nic->per_device ? "device" : "node");
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
  root.emplace_back("network", Detail::Record{{"type", type_name(form.network)}});
}

Detail pair_list(const ExplicitForm& form, DeviceId from, DeviceId to) {
  return Detail::List{form.devices[from].name, form.devices[to].name};
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
    if (device.host) record.emplace_back("host", host_record(*device.host));
    devices.push_back(std::move(record));
  }
  root.emplace_back("devices", std::move(devices));
  Detail::List links;
  for (const ExplicitLink& link : form.links) links.push_back(link_record(form, link));
  root.emplace_back("links", std::move(links));
  Detail::List routes;
  for (const ExplicitRoute& route : form.routes) routes.push_back(route_record(form, route));
  root.emplace_back("routes", std::move(routes));
  if (!form.default_link) return;
  Detail::Record link;
  add_link(link, *form.default_link);
  root.emplace_back("default_link", std::move(link));
}

}  // namespace

std::string write_platform(const PlatformSpec& spec) {
  Detail::Record root = {{"schema", "stagecraft/platform/1"}, {"platform", spec.name}};
  Detail::Record kinds;
  for (const DeviceKind& kind : spec.device_kinds) kinds.emplace_back(kind.name, device_kind_record(kind));
  root.emplace_back("device_kinds", std::move(kinds));
  if (const auto* nodes = std::get_if<NodeForm>(&spec.form)) {
    add_node_form(root, *nodes, spec);
  } else {
    add_explicit_form(root, std::get<ExplicitForm>(spec.form), spec);
  }
  return to_yaml(root);
}

}  // namespace stagecraft
