#include "sim/base/error.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/model/interconnect.hpp"
#include "sim/model/network.hpp"
#include "sim/model/nics.hpp"
#include "sim/model/platform.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <span>

namespace stagecraft {
namespace {

/// The smallest bandwidth so far; none as soon as a pair is not connected.
using Smallest = std::optional<BytesPerSecond>;

Smallest smallest_among(const Platform& platform, PairUse use) {
  SmallestBandwidth smallest;
  for (DeviceId a : indices(platform.devices)) {
    for (DeviceId b : indices(platform.devices)) smallest.add(platform, a, b, use);
    if (smallest.apart) return std::nullopt;
  }
  return smallest.bandwidth;
}

std::set<NodeKindId> kinds_present(const NodeForm& form) {
  std::set<NodeKindId> kinds;
  for (const NodeGroup& group : form.groups) kinds.insert(group.kind);
  return kinds;
}

/// The smallest bandwidth of the route between a device and the network.
BytesPerSecond smallest_on_the_way_out(const NodeKind& kind) {
  BytesPerSecond smallest = kind.nic->link.bandwidth;
  const WayToNic way = way_to_nic(kind);
  if (way != WayToNic::None) smallest = std::min(smallest, kind.interconnect->link.bandwidth);
  if (way == WayToNic::Tree)
    smallest = std::min(smallest, std::get<PcieNode>(kind.interconnect->shape).uplink.bandwidth);
  return smallest;
}

/// The bandwidth between a device and its host, the same in both directions.
BytesPerSecond to_host(const NodeKind& kind) {
  if (kind.host->link) return kind.host->link->bandwidth;
  return std::min(kind.interconnect->link.bandwidth, std::get<PcieNode>(kind.interconnect->shape).uplink.bandwidth);
}

std::uint64_t nodes_of_kind(const NodeForm& form, NodeKindId kind) {
  std::uint64_t count = 0;
  for (const NodeGroup& group : form.groups) count += group.kind == kind ? group.count : 0;
  return count;
}

/// Of boundary tensors that pass through host memory.
Smallest smallest_over_hosts(const Platform& platform, const NodeForm& form) {
  Smallest smallest;
  const auto include = [&](std::initializer_list<BytesPerSecond> legs) {
    const BytesPerSecond bandwidth = in_sequence(std::span(legs.begin(), legs.size()));
    smallest = smallest ? std::min(*smallest, bandwidth) : bandwidth;
  };
  const std::set<NodeKindId> kinds = kinds_present(form);
  for (NodeKindId from : kinds) {
    const NodeKind& sender = form.node_kinds[from];
    if (sender.device_count > 1) include({to_host(sender), to_host(sender)});
    if (platform.nodes.size() == 1) continue;
    if (!sender.nic) return std::nullopt;
    const BytesPerSecond network = smallest_bandwidth_between_nodes(platform, form);
    for (NodeKindId to : kinds) {
      const NodeKind& receiver = form.node_kinds[to];
      if (!receiver.nic) return std::nullopt;
      if (from == to && nodes_of_kind(form, from) < 2) continue;
      const BytesPerSecond cards = std::min(sender.nic->link.bandwidth, receiver.nic->link.bandwidth);
      include({to_host(sender), std::min(network, cards), to_host(receiver)});
    }
  }
  return smallest;
}

Smallest smallest_in_nodes(const Platform& platform, const NodeForm& form) {
  const bool has_network = platform.nodes.size() > 1;
  Smallest smallest;
  if (has_network) smallest = smallest_bandwidth_between_nodes(platform, form);
  const auto include = [&](BytesPerSecond bandwidth) {
    smallest = smallest ? std::min(*smallest, bandwidth) : bandwidth;
  };
  for (NodeKindId id : kinds_present(form)) {
    const NodeKind& kind = form.node_kinds[id];
    if ((kind.device_count > 1 && !kind.interconnect) || (has_network && !kind.nic)) return std::nullopt;
    if (kind.device_count > 1) include(smallest_bandwidth_inside(*kind.interconnect, kind.device_count));
    if (has_network) include(smallest_on_the_way_out(kind));
  }
  return smallest;
}

std::optional<double> speed_of(const Platform& platform, const std::string& kind) {
  const auto given = platform.spec.speeds.find(kind);
  if (given != platform.spec.speeds.end()) return given->second;
  for (const DeviceKind& known : platform.spec.device_kinds) {
    if (known.name == kind) return known.speed;
  }
  return std::nullopt;
}

bool is_uniform_cluster(const Platform& platform) {
  const auto* form = std::get_if<NodeForm>(&platform.spec.form);
  return form != nullptr && kinds_present(*form).size() == 1;
}

}  // namespace

std::optional<BytesPerSecond> smallest_pair_bandwidth(const Platform& platform, PairUse use) {
  const auto* form = std::get_if<NodeForm>(&platform.spec.form);
  if (form == nullptr) return smallest_among(platform, use);
  const bool over_hosts = use == PairUse::Boundary && platform.spec.transport == Transport::Host;
  return over_hosts ? smallest_over_hosts(platform, *form) : smallest_in_nodes(platform, *form);
}

std::vector<Level> levels(const Platform& platform) {
  const auto device_count = static_cast<std::uint32_t>(platform.devices.size());
  if (device_count <= 1) return {};
  const std::optional<BytesPerSecond> smallest = smallest_pair_bandwidth(platform, PairUse::Collective);
  if (!smallest) {
    throw InputError("some devices of platform '" + platform.spec.name + "' are not connected", {},
                     "add links, routes, a default_link, an interconnect or a nic");
  }
  const bool over_hosts = platform.spec.transport == Transport::Host;
  if (!is_uniform_cluster(platform)) {
    return {{device_count, *smallest, over_hosts ? smallest_pair_bandwidth(platform) : std::nullopt}};
  }
  const auto& form = std::get<NodeForm>(platform.spec.form);
  const NodeKind& kind = form.node_kinds[platform.nodes[NodeId(0)].kind];
  std::vector<Level> result;
  if (kind.device_count > 1) {
    result.push_back({kind.device_count, kind.interconnect->link.bandwidth});
    if (over_hosts) result.back().boundary = in_sequence(std::array{to_host(kind), to_host(kind)});
  }
  if (platform.nodes.size() > 1) {
    const BytesPerSecond nic = kind.nic->link.bandwidth;
    const BytesPerSecond card = kind.device_count > 1 ? nic : smallest_on_the_way_out(kind);
    result.push_back({static_cast<std::uint32_t>(platform.nodes.size()), card});
    if (over_hosts) result.back().boundary = in_sequence(std::array{to_host(kind), nic, to_host(kind)});
  }
  return result;
}

std::optional<double> time_factor(const Platform& platform, const std::string& profile_device, DeviceId device) {
  const DeviceKind& target = platform.kind(device);
  const double slowdown = platform.devices[device].slowdown;
  if (target.name == profile_device) return slowdown;
  const std::optional<double> from = speed_of(platform, profile_device);
  const std::optional<double> to = speed_of(platform, target.name);
  if (!from || !to) return std::nullopt;
  return slowdown * (*from / *to);
}

double require_time_factor(const Platform& platform, const std::string& profile_device, DeviceId device) {
  const DeviceKind& kind = platform.kind(device);
  if (const std::optional<double> factor = time_factor(platform, profile_device, device)) return *factor;
  std::vector<std::string> missing;
  for (const std::string& each : {profile_device, kind.name}) {
    if (!speed_of(platform, each)) missing.push_back(each);
  }
  std::string names = "'" + missing.front() + "'";
  std::string hint = "give it with --speed " + missing.front() + "=X";
  if (missing.size() > 1) {
    names += " and of '" + missing.back() + "'";
    hint = "give them with --speed " + missing.front() + "=X --speed " + missing.back() + "=Y";
  }
  hint += ", relative to the platform's other kinds";
  const bool is_plain = platform.precision == kPlainPrecision;
  if (!is_plain) hint += ", or in the platform file with speed: {" + platform.precision + ": X}";
  const std::string in_precision = is_plain ? "" : " in " + platform.precision;
  throw InputError("the profile was taken on '" + profile_device + "'" + in_precision + " and the platform has '" +
                       kind.name + "', but the speed of " + names + in_precision + " is not known",
                   {}, hint);
}

}  // namespace stagecraft
