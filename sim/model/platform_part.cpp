#include "sim/model/platform_part.hpp"

#include "sim/model/joint_link.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace stagecraft {
namespace {

std::optional<HostSpec> host_of(const Platform& whole, DeviceId device, std::int64_t sharers) {
  const HostId host = whole.devices[device].host;
  if (host.is_none()) return std::nullopt;
  const std::optional<LinkSpec> link = joint_link(whole, {{whole.place(device), whole.place(host)}});
  if (!link) return std::nullopt;
  return HostSpec{.memory = Bytes(whole.hosts[host].memory.value() / sharers), .link = link};
}

/// Whether the first devices of such a node are joined as those of a smaller one.
bool is_part_of_larger(const NodeKind& kind) {
  return !kind.interconnect || std::holds_alternative<SwitchedNode>(kind.interconnect->shape) ||
         std::holds_alternative<FullNode>(kind.interconnect->shape) ||
         std::holds_alternative<PcieNode>(kind.interconnect->shape);
}

/// A node with the first devices of such a one, and their part of its host memory.
NodeKind smaller(NodeKind kind, std::uint32_t count) {
  if (kind.host) kind.host->memory = Bytes(kind.host->memory.value() / kind.device_count * count);
  kind.device_count = count;
  kind.nic.reset();
  return kind;
}

/// The form of the first devices; none if their links cannot be those of a platform of nodes.
std::optional<NodeForm> form_of_first(const NodeForm& whole, std::size_t count) {
  NodeForm form = whole;
  form.groups.clear();
  const NodeKind& first = whole.node_kinds[whole.groups.front().kind];
  if (count <= first.device_count) {
    if (count < first.device_count && !is_part_of_larger(first)) return std::nullopt;
    form.node_kinds = {smaller(first, static_cast<std::uint32_t>(count))};
    form.groups = {{NodeKindId(0), 1}};
    form.network = SwitchedNetwork{};
    return form;
  }
  // The uplinks of a fat tree are as wide as its widest node asks for.
  if (std::holds_alternative<FatTreeNetwork>(whole.network) && whole.groups.size() > 1) return std::nullopt;
  if (std::holds_alternative<TorusNetwork>(whole.network) || std::holds_alternative<DragonflyNetwork>(whole.network)) {
    return std::nullopt;
  }
  for (const NodeGroup& group : whole.groups) {
    const std::size_t size = whole.node_kinds[group.kind].device_count;
    const std::size_t nodes = std::min<std::size_t>(group.count, count / size);
    if (nodes == 0) break;
    form.groups.push_back({group.kind, static_cast<std::uint32_t>(nodes)});
    count -= nodes * size;
  }
  return form;
}

/// Builds a platform that lacks some devices, and copies what has been observed of the others. **Shape** `devices` by
/// device of the part.
Platform build_part(const Platform& whole, PlatformSpec spec, const IndexVector<DeviceId, DeviceId>& devices) {
  Platform part = build_platform(std::move(spec));
  part.precision = whole.precision;
  for (const DeviceId device : indices(devices)) {
    part.devices[device].slowdown = whole.devices[devices[device]].slowdown;
    part.devices[device].memory = whole.devices[devices[device]].memory;
  }
  return part;
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
      const auto link = joint_link(whole, {{whole.place(part.devices[a]), whole.place(part.devices[b])}});
      if (link) form.links.push_back({"", std::pair(a, b), *link});
    }
  }
  PlatformSpec spec = whole.spec;
  spec.form = std::move(form);
  part.platform = build_part(whole, std::move(spec), part.devices);
  return part;
}

Platform first_devices(const Platform& whole, std::size_t count) {
  IndexVector<DeviceId, DeviceId> first;
  std::vector<DeviceId> others;
  for (const DeviceId device : indices(whole.devices)) {
    if (device.value() < count) {
      first.push_back(device);
    } else {
      others.push_back(device);
    }
  }
  const auto* nodes = std::get_if<NodeForm>(&whole.spec.form);
  std::optional<NodeForm> form = nodes == nullptr ? std::nullopt : form_of_first(*nodes, count);
  if (!form) return platform_without(whole, others).platform;
  PlatformSpec spec = whole.spec;
  spec.form = *std::move(form);
  return build_part(whole, std::move(spec), first);
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
