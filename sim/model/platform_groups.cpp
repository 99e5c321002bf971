#include "sim/model/platform_groups.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/joint_link.hpp"
#include "sim/model/node_form_groups.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

using Groups = IndexVector<DeviceId, Group>;

constexpr std::size_t kMostPairedGroups = 1024;  ///< with a million links, some 300 MB

std::string divisors_of(std::size_t count) {
  std::string text;
  for (std::size_t size = 1; size <= count; ++size) {
    if (count % size == 0) text += (text.empty() ? "" : ", ") + std::to_string(size);
  }
  return text;
}

Groups groups_of(const Platform& whole, std::size_t size) {
  const std::size_t count = whole.devices.size();
  if (count % size != 0) {
    throw InputError("expected groups whose size divides the " + std::to_string(count) + " devices of platform " +
                         quote(whole.spec.name) + ", found groups of " + std::to_string(size),
                     {}, "such sizes are " + divisors_of(count));
  }
  Groups groups(count / size);
  for (const DeviceId device : indices(whole.devices)) {
    groups[DeviceId(device.value() / size)].devices.push_back(device);
  }
  return groups;
}

[[noreturn]] void refuse_group(const Platform& whole, const Group& group, const std::string& reason,
                               const std::string& hint) {
  throw InputError("the devices " + whole.devices[group.devices.front()].name + " to " +
                       whole.devices[group.devices.back()].name + " of platform " + quote(whole.spec.name) +
                       " cannot be a group of " + std::to_string(group.devices.size()) + ": " + reason,
                   {}, hint);
}

/// Refuses a group whose members cannot run the same layers at the same time. Each talks to that many after it.
void check_group(const Platform& whole, const Group& group, std::size_t farthest) {
  for (const DeviceId member : group.devices) {
    if (whole.devices[member].kind != whole.devices[group.lead()].kind) {
      refuse_group(whole, group,
                   whole.devices[member].name + " is of the kind " + quote(whole.kind(member).name) + " and " +
                       whole.devices[group.lead()].name + " of the kind " + quote(whole.kind(group.lead()).name),
                   "a group has devices of one kind, which follow each other in the platform");
    }
  }
  Route route;
  const std::size_t size = group.devices.size();
  for (std::size_t i = 0; i < size * farthest; ++i) {
    const DeviceId member = group.devices[i % size];
    const DeviceId next = group.devices[(i + 1 + i / size) % size];
    if (find_route(whole, whole.place(member), whole.place(next), route)) continue;
    refuse_group(whole, group, whole.devices[member].name + " and " + whole.devices[next].name + " are not connected",
                 "add links, routes, a default_link, an interconnect or a nic");
  }
}

/// A host of the group's own, with what is each member's part of its host; none if a member has none.
std::optional<HostSpec> host_of_group(const Platform& whole, const Group& group,
                                      const std::map<HostId, std::int64_t>& sharers) {
  HostSpec host;
  JointWays ways;
  for (const DeviceId member : group.devices) {
    const HostId of_member = whole.devices[member].host;
    if (of_member.is_none()) return std::nullopt;
    const Bytes part(whole.hosts[of_member].memory.value() / sharers.at(of_member));
    host.memory = ways.empty() ? part : std::min(host.memory, part);
    ways.emplace_back(whole.place(member), whole.place(of_member));
  }
  host.link = joint_link(whole, ways);
  return host;
}

std::optional<LinkSpec> link_of_pair(const Platform& whole, const Group& a, const Group& b) {
  JointWays ways;
  for (std::size_t i = 0; i < a.devices.size(); ++i) {
    ways.emplace_back(whole.place(a.devices[i]), whole.place(b.devices[i]));
  }
  return joint_link(whole, ways);
}

/// Groups with the names of their first devices, and a link for each pair.
ExplicitForm paired(const Platform& whole, const Groups& groups) {
  if (groups.size() > kMostPairedGroups) {
    throw InputError("the " + std::to_string(groups.size()) + " groups of platform " + quote(whole.spec.name) +
                         " would each need links to all others, which at most " + std::to_string(kMostPairedGroups) +
                         " groups can have",
                     {}, "choose larger groups, or a size that divides the devices of every node");
  }
  std::map<HostId, std::int64_t> sharers;
  for (const Device& device : whole.devices) ++sharers[device.host];
  ExplicitForm form;
  for (const Group& group : groups) {
    const Device& lead = whole.devices[group.lead()];
    form.devices.push_back({lead.name, lead.kind, host_of_group(whole, group, sharers)});
  }
  for (const DeviceId a : indices(groups)) {
    for (DeviceId b(a.value() + 1); b.value() < groups.size(); ++b) {
      const auto link = link_of_pair(whole, groups[a], groups[b]);
      if (link) form.links.push_back({"", std::pair(a, b), *link});
    }
  }
  return form;
}

/// Copies what has been observed of members: the largest slowdown and the least memory.
void observe_members(const Platform& whole, const Group& group, Device& device) {
  device.slowdown = whole.devices[group.lead()].slowdown;
  for (const DeviceId member : group.devices) {
    const Device& observed = whole.devices[member];
    device.slowdown = std::max(device.slowdown, observed.slowdown);
    if (observed.memory) device.memory = std::min(*observed.memory, device.memory.value_or(*observed.memory));
  }
}

}  // namespace

PlatformGroups platform_of_groups(const Platform& whole, std::int64_t size, bool crosses) {
  STAGECRAFT_CHECK(size > 0, "groups of at least one device");
  PlatformGroups result{{}, groups_of(whole, static_cast<std::size_t>(size))};
  if (size == 1) {
    result.platform = whole;
    return result;
  }
  for (const Group& group : result.groups) check_group(whole, group, crosses ? group.devices.size() - 1 : 1);
  PlatformSpec spec = whole.spec;
  const auto* nodes = std::get_if<NodeForm>(&whole.spec.form);
  std::optional<NodeForm> form;
  if (nodes != nullptr) form = form_of_groups(*nodes, static_cast<std::uint32_t>(size));
  if (form) {
    spec.form = *std::move(form);
  } else {
    spec.form = paired(whole, result.groups);
  }
  result.platform = build_platform(std::move(spec));
  result.platform.precision = whole.precision;
  for (const DeviceId group : indices(result.groups)) {
    observe_members(whole, result.groups[group], result.platform.devices[group]);
  }
  return result;
}

Plan plan_on_whole(const PlatformGroups& groups, Plan plan) {
  for (Stage& stage : plan.stages) {
    for (Group& replica : stage.replicas) {
      Group members;
      for (const DeviceId group : replica.devices) {
        const std::vector<DeviceId>& own = groups.groups[group].devices;
        members.devices.insert(members.devices.end(), own.begin(), own.end());
      }
      replica = std::move(members);
    }
  }
  std::vector<std::pair<DeviceId, Bytes>> peaks;
  for (const auto& [group, peak] : plan.predicted.peak_memory) {
    for (const DeviceId member : groups.groups[group].devices) peaks.emplace_back(member, peak);
  }
  plan.predicted.peak_memory = std::move(peaks);
  return plan;
}

}  // namespace stagecraft
