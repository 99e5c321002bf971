#include "sim/model/platform_explicit.hpp"

#include "sim/base/error.hpp"
#include "sim/model/link_row.hpp"

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
    Device device{spec.name, spec.kind, NodeId::none(), HostId::none(), LinkId::none(), LinkId::none()};
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

void add_pair_link(Platform& platform, DeviceId a, DeviceId b, const std::string& name, const LinkSpec& link) {
  const std::string& from = platform.devices[a].name;
  const std::string& to = platform.devices[b].name;
  const LinkRow row = add_one(platform, link, name.empty() ? between(from, to) : named(name));
  add_way(platform, a, b, {row.forward(0)}, {row.backward(0)});
}

/// A link between two devices is crossed in the direction in which the route passes them; a link that is only named, in
/// its forward direction.
void add_route(Platform& platform, const ExplicitForm& form, const ExplicitRoute& route,
               const std::vector<LinkRow>& rows) {
  std::vector<LinkId> forward;
  std::vector<LinkId> reverse;
  DeviceId at = route.from;  // none after a link that is only named
  for (std::size_t position : route.links) {
    const ExplicitLink& link = form.links[position];
    const bool is_last = position == route.links.back();
    const bool backwards =
        link.between && (link.between->second == at || (at.is_none() && is_last && link.between->first == route.to));
    at = link.between ? (backwards ? link.between->first : link.between->second) : DeviceId::none();
    const LinkId along = rows[position].forward(0);
    const LinkId against = rows[position].backward(0);
    forward.push_back(backwards ? against : along);
    reverse.insert(reverse.begin(), backwards ? along : against);
  }
  add_way(platform, route.from, route.to, forward, reverse);
}

}  // namespace

void build_explicit(Platform& platform, const ExplicitForm& form) {
  build_explicit_devices(platform, form);
  std::vector<LinkRow> rows;
  for (const ExplicitLink& link : form.links) {
    rows.push_back(begin_row(platform, link.link));
    if (link.between) {
      add_pair_link(platform, link.between->first, link.between->second, link.name, link.link);
    } else {
      add_link(platform, link.link, named(link.name));
    }
  }
  for (const ExplicitRoute& route : form.routes) add_route(platform, form, route, rows);
  if (!form.default_link) return;
  for (DeviceId a : indices(form.devices)) {
    for (DeviceId b(a.value() + 1); b.value() < form.devices.size(); ++b) {
      if (!platform.routes.contains({a, b})) add_pair_link(platform, a, b, "", *form.default_link);
    }
  }
}

}  // namespace stagecraft
