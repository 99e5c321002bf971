#include "sim/base/error.hpp"
#include "sim/model/interconnect.hpp"
#include "sim/model/link_row.hpp"
#include "sim/model/network.hpp"
#include "sim/model/nics.hpp"
#include "sim/model/platform.hpp"

namespace stagecraft {
namespace {

/// The position of a device in the node form.
struct Location {
  const Node& node;
  const NodeKind& kind;
  std::uint32_t device;  ///< its number in the node
};

Location locate(const Platform& platform, const NodeForm& form, DeviceId device) {
  const Node& node = platform.nodes[platform.devices[device].node];
  return {node, form.node_kinds[node.kind], device.value() - node.first_device.value()};
}

/// From NIC to NIC; false if one of the nodes has none.
bool route_between_cards(const Platform& platform, const NodeForm& form, DeviceId from, DeviceId to, Route& into) {
  const Location source = locate(platform, form, from);
  const Location target = locate(platform, form, to);
  if (!source.kind.nic || !target.kind.nic) return false;
  cross(platform, source.node.nics.forward(nic_of(source.kind, source.device)), into);
  cross_network(platform, form, from, to, into);
  cross(platform, target.node.nics.backward(nic_of(target.kind, target.device)), into);
  return true;
}

bool route_between_nodes(const Platform& platform, const NodeForm& form, DeviceId from, DeviceId to, Route& into) {
  const Location source = locate(platform, form, from);
  const Location target = locate(platform, form, to);
  climb_to_nic(platform, source.kind, source.node, source.device, into);
  if (!route_between_cards(platform, form, from, to, into)) return false;
  descend_from_nic(platform, target.kind, target.node, target.device, into);
  return true;
}

bool route_in_node_form(const Platform& platform, const NodeForm& form, DeviceId from, DeviceId to, Route& into) {
  if (platform.devices[from].node != platform.devices[to].node) {
    return route_between_nodes(platform, form, from, to, into);
  }
  const Location source = locate(platform, form, from);
  if (!source.kind.interconnect) return false;
  const std::uint32_t target = to.value() - source.node.first_device.value();
  cross_interconnect(platform, source.kind, source.node, source.device, target, into);
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

void route_to_own_host(const Platform& platform, DeviceId id, bool towards_host, Route& into) {
  const Device& device = platform.devices[id];
  const LinkId link = towards_host ? device.to_host : device.from_host;
  if (!link.is_none()) {
    cross(platform, link, into);
    return;
  }
  const Location at = locate(platform, std::get<NodeForm>(platform.spec.form), id);
  if (towards_host) {
    climb_to_host(platform, at.kind, at.node, at.device, into);
  } else {
    descend_from_host(platform, at.kind, at.node, at.device, into);
  }
}

bool route_between_hosts(const Platform& platform, DeviceId from, DeviceId to, Route& into) {
  if (platform.devices[from].host == platform.devices[to].host) return true;
  if (const auto* form = std::get_if<NodeForm>(&platform.spec.form)) {
    return route_between_cards(platform, *form, from, to, into);
  }
  return route_between_devices(platform, from, to, into);
}

}  // namespace

bool find_route(const Platform& platform, PlaceId from, PlaceId to, Leg leg, Route& into) {
  if (leg == Leg::Whole) return find_route(platform, from, to, into);
  into.links.clear();
  into.latency = Seconds(0);
  const DeviceId sender = platform.device(from);
  const DeviceId receiver = platform.device(to);
  STAGECRAFT_CHECK(platform.is_device(from) && platform.is_device(to) && !platform.devices[sender].host.is_none() &&
                       !platform.devices[receiver].host.is_none(),
                   "a leg of a way between two devices with hosts");
  if (leg == Leg::BetweenHosts) return route_between_hosts(platform, sender, receiver, into);
  route_to_own_host(platform, leg == Leg::ToHost ? sender : receiver, leg == Leg::ToHost, into);
  return true;
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
  const DeviceId device = platform.device(from_device ? from : to);
  if (platform.devices[device].host != platform.host(from_device ? to : from)) return false;
  route_to_own_host(platform, device, from_device, into);
  return true;
}

std::pair<PlaceId, PlaceId> ends_of(const Platform& platform, PlaceId from, PlaceId to, Leg leg) {
  if (leg == Leg::Whole) return {from, to};
  const auto host_of = [&](PlaceId device) { return platform.place(platform.devices[platform.device(device)].host); };
  return {leg == Leg::ToHost ? from : host_of(leg == Leg::BetweenHosts ? from : to),
          leg == Leg::FromHost ? to : host_of(leg == Leg::BetweenHosts ? to : from)};
}

}  // namespace stagecraft
