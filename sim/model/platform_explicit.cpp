#include "sim/model/platform_explicit.hpp"

#include "sim/base/error.hpp"
#include "sim/model/explicit_nics.hpp"
#include "sim/model/link_row.hpp"

#include <cstddef>
#include <map>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

LinkRow add_one(Platform& platform, const LinkSpec& spec, const LinkNames& names) {
  const LinkRow row = begin_row(platform, spec);
  add_link(platform, spec, names);
  return row;
}

LinkNames named(const std::string& name) { return {name + ".forward", name + ".reverse", name}; }

void build_explicit_devices(Platform& platform, const ExplicitForm& form) {
  for (const ExplicitDevice& spec : form.devices) {
    Device device{spec.name, spec.kind, spec.node, HostId::none(), LinkId::none(), LinkId::none()};
    if (spec.host) {
      const std::string name = spec.name + ".host";
      device.host = platform.hosts.push_back({name, spec.host->memory});
      STAGECRAFT_CHECK(spec.host->link.has_value(), "a link to the host: there is no PCIe tree here");
      const LinkRow row = add_one(platform, *spec.host->link, up_and_down(name, name + ".link"));
      device.to_host = row.forward(0);
      device.from_host = row.backward(0);
    }
    platform.devices.push_back(std::move(device));
  }
}

/// Enters a route and its reverse; each link is crossed in its own direction.
void add_way(Platform& platform, DeviceId a, DeviceId b, const std::vector<LinkId>& forward,
             const std::vector<LinkId>& reverse) {
  platform.routes[{a, b}] = forward;
  platform.routes[{b, a}] = reverse;
}

void add_pair_link(Platform& platform, DeviceId a, DeviceId b, const LinkRow& row) {
  add_way(platform, a, b, {row.forward(0)}, {row.backward(0)});
}

const std::string& name_of(const ExplicitForm& form, const ExplicitEnd& end) {
  const auto* device = std::get_if<DeviceId>(&end);
  return device != nullptr ? form.devices[*device].name : form.switches[std::get<SwitchId>(end)];
}

/// The rows of all links, in their order. Links between two devices connect these.
std::vector<LinkRow> build_explicit_links(Platform& platform, const ExplicitForm& form) {
  std::vector<LinkRow> rows;
  for (const ExplicitLink& link : form.links) {
    LinkNames names = named(link.name);
    if (link.name.empty()) names = between(name_of(form, link.between->first), name_of(form, link.between->second));
    rows.push_back(add_one(platform, link.link, names));
    if (!link.between) continue;
    const auto* a = std::get_if<DeviceId>(&link.between->first);
    const auto* b = std::get_if<DeviceId>(&link.between->second);
    if (a != nullptr && b != nullptr) add_pair_link(platform, *a, *b, rows.back());
  }
  return rows;
}

/// A link with two ends is crossed in the direction in which the route passes them; a link that is only named, in its
/// forward direction.
void add_route(Platform& platform, const ExplicitForm& form, const ExplicitRoute& route,
               const std::vector<LinkRow>& rows) {
  std::vector<LinkId> forward;
  std::vector<LinkId> reverse;
  const ExplicitEnd unknown = DeviceId::none();  // after a link that is only named
  ExplicitEnd at = route.from;
  for (std::size_t position : route.links) {
    const ExplicitLink& link = form.links[position];
    const bool is_last = position == route.links.back();
    bool backwards = false;
    ExplicitEnd next = unknown;
    if (link.between) {
      const auto& [first, second] = *link.between;
      backwards = second == at || (at == unknown && is_last && first == ExplicitEnd(route.to));
      next = backwards ? first : second;
    }
    at = next;
    const LinkId along = rows[position].forward(0);
    const LinkId against = rows[position].backward(0);
    forward.push_back(backwards ? against : along);
    reverse.insert(reverse.begin(), backwards ? along : against);
  }
  add_way(platform, route.from, route.to, forward, reverse);
}

/// The links at each switch, and those between a device and a switch at the device, in the order of the file.
using LinksAt = std::map<ExplicitEnd, std::vector<std::size_t>>;

LinksAt links_to_switches(const ExplicitForm& form) {
  LinksAt links;
  for (std::size_t i = 0; i < form.links.size(); ++i) {
    const auto& ends = form.links[i].between;
    if (!ends) continue;
    const auto is_switch = [](const ExplicitEnd& end) { return std::holds_alternative<SwitchId>(end); };
    if (!is_switch(ends->first) && !is_switch(ends->second)) continue;
    links[ends->first].push_back(i);
    links[ends->second].push_back(i);
  }
  return links;
}

/// How the shortest ways from a device over switches reach each end: from which end, over which link.
struct Step {
  ExplicitEnd from;
  std::size_t link = 0;
};

std::map<ExplicitEnd, Step> steps_from(const ExplicitForm& form, const LinksAt& links, DeviceId source) {
  std::map<ExplicitEnd, Step> steps;
  std::vector<ExplicitEnd> reached = {source};
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const ExplicitEnd at = reached[next];
    const auto here = links.find(at);
    const bool passes_on = next == 0 || std::holds_alternative<SwitchId>(at);
    if (here == links.end() || !passes_on) continue;
    for (std::size_t link : here->second) {
      const auto& [first, second] = *form.links[link].between;
      const ExplicitEnd& to = first == at ? second : first;
      if (to != ExplicitEnd(source) && steps.emplace(to, Step{at, link}).second) reached.push_back(to);
    }
  }
  return steps;
}

/// Connects the pairs with neither link nor route by the way over switches with the fewest links. Of several the one
/// whose links come first in the file, seen from the pair's first device.
void add_ways_over_switches(Platform& platform, const ExplicitForm& form, const std::vector<LinkRow>& rows) {
  const LinksAt links = links_to_switches(form);
  for (DeviceId a : indices(form.devices)) {
    if (!links.contains(a)) continue;
    const std::map<ExplicitEnd, Step> steps = steps_from(form, links, a);
    for (const auto& [end, _] : steps) {
      const auto* b = std::get_if<DeviceId>(&end);
      if (b == nullptr || *b < a || platform.routes.contains({a, *b})) continue;
      std::vector<LinkId> forward;
      std::vector<LinkId> reverse;
      for (ExplicitEnd at = end; at != ExplicitEnd(a);) {
        const Step& step = steps.at(at);
        const bool backwards = form.links[step.link].between->first == at;
        const LinkId along = rows[step.link].forward(0);
        const LinkId against = rows[step.link].backward(0);
        forward.insert(forward.begin(), backwards ? against : along);
        reverse.push_back(backwards ? along : against);
        at = step.from;
      }
      add_way(platform, a, *b, forward, reverse);
    }
  }
}

void add_default_links(Platform& platform, const ExplicitForm& form, std::vector<LinkRow>& rows) {
  for (DeviceId a : indices(form.devices)) {
    for (DeviceId b(a.value() + 1); b.value() < form.devices.size(); ++b) {
      if (platform.routes.contains({a, b})) continue;
      const LinkNames names = between(form.devices[a].name, form.devices[b].name);
      rows.push_back(add_one(platform, *form.default_link, names));
      add_pair_link(platform, a, b, rows.back());
    }
  }
}

}  // namespace

void build_explicit(Platform& platform, const ExplicitForm& form) {
  build_explicit_devices(platform, form);
  std::vector<LinkRow> rows = build_explicit_links(platform, form);
  for (const ExplicitRoute& route : form.routes) add_route(platform, form, route, rows);
  if (!form.switches.empty()) add_ways_over_switches(platform, form, rows);
  if (form.default_link) add_default_links(platform, form, rows);
  if (!form.nodes.empty()) number_nics(platform, rows);
}

}  // namespace stagecraft
