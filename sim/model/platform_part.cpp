#include "sim/model/platform_part.hpp"

#include "sim/model/bandwidths.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace stagecraft {
namespace {

constexpr BytesPerSecond kNoLink{1e15};  ///< between devices whose way crosses no link

/// A link as wide and as long as the ways between two places; none if they are not connected.
std::optional<LinkSpec> link_between(const Platform& whole, PlaceId a, PlaceId b) {
  LinkSpec link{kNoLink, Seconds(0)};
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    Route route;
    if (!find_route(whole, from, to, route)) return std::nullopt;
    link.bandwidth = std::min(link.bandwidth, narrowest_bandwidth(whole, route).value_or(kNoLink));
    link.latency = std::max(link.latency, route.latency);
  }
  return link;
}

std::optional<HostSpec> host_of(const Platform& whole, DeviceId device, std::int64_t sharers) {
  const HostId host = whole.devices[device].host;
  if (host.is_none()) return std::nullopt;
  const std::optional<LinkSpec> link = link_between(whole, whole.place(device), whole.place(host));
  if (!link) return std::nullopt;
  return HostSpec{.memory = Bytes(whole.hosts[host].memory.value() / sharers), .link = link};
}

/// Replaces the devices of a plan's stages; false if one has no other.
template <class Other>
bool replace_devices(Plan& plan, const Other& other) {
  for (Stage& stage : plan.stages) {
    for (Group& group : stage.replicas) {
      for (DeviceId& device : group.devices) {
        device = other(device);
        if (device.is_none()) return false;
      }
    }
  }
  return true;
}

}  // namespace

PlatformPart platform_without(const Platform& whole, const std::vector<DeviceId>& left_out) {
  PlatformPart part;
  std::map<HostId, std::int64_t> sharers;
  for (DeviceId device : indices(whole.devices)) {
    if (std::ranges::count(left_out, device) > 0) continue;
    part.devices.push_back(device);
    ++sharers[whole.devices[device].host];
  }
  ExplicitForm form;
  for (DeviceId device : part.devices) {
    const Device& kept = whole.devices[device];
    form.devices.push_back({kept.name, kept.kind, host_of(whole, device, sharers[kept.host])});
  }
  for (DeviceId a : indices(part.devices)) {
    for (DeviceId b(a.value() + 1); b.value() < part.devices.size(); ++b) {
      const auto link = link_between(whole, whole.place(part.devices[a]), whole.place(part.devices[b]));
      if (link) form.links.push_back({"", std::pair(a, b), *link});
    }
  }
  PlatformSpec spec = whole.spec;
  spec.form = std::move(form);
  part.platform = build_platform(std::move(spec));
  part.platform.precision = whole.precision;
  for (DeviceId device : indices(part.devices)) {
    part.platform.devices[device].slowdown = whole.devices[part.devices[device]].slowdown;
    part.platform.devices[device].memory = whole.devices[part.devices[device]].memory;
  }
  return part;
}

Plan plan_on_whole(const PlatformPart& part, Plan plan) {
  replace_devices(plan, [&](DeviceId device) { return part.devices[device]; });
  return plan;
}

std::optional<Plan> plan_on_part(const PlatformPart& part, Plan plan) {
  const auto in_part = [&](DeviceId device) {
    const auto found = std::ranges::find(part.devices, device);
    return found == part.devices.end() ? DeviceId::none() : DeviceId(found - part.devices.begin());
  };
  return replace_devices(plan, in_part) ? std::optional(std::move(plan)) : std::nullopt;
}

}  // namespace stagecraft
