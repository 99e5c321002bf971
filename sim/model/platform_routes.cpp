#include "sim/base/error.hpp"
#include "sim/model/interconnect.hpp"
#include "sim/model/link_row.hpp"
#include "sim/model/network.hpp"
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

bool route_between_nodes(const Platform& platform, const NodeForm& form, DeviceId from, DeviceId to, Route& into) {
  const Location source = locate(platform, form, from);
  const Location target = locate(platform, form, to);
  const std::optional<NicSpec>& out = source.kind.nic;
  const std::optional<NicSpec>& in = target.kind.nic;
  if (!out || !in) return false;
  if (!out->per_device) climb(platform, source.kind, source.node, source.device, into);
  cross(platform, source.node.nics.forward(out->per_device ? source.device : 0), into);
  cross_network(platform, form, from, to, into);
  cross(platform, target.node.nics.backward(in->per_device ? target.device : 0), into);
  if (!in->per_device) descend(platform, target.kind, target.node, target.device, into);
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
    climb(platform, at.kind, at.node, at.device, into);
  } else {
    descend(platform, at.kind, at.node, at.device, into);
  }
}

}  // namespace

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

}  // namespace stagecraft
