#include "sim/schedule/exchange_rings.hpp"

#include "sim/model/degrees.hpp"
#include "sim/model/platform_groups.hpp"

#include <cstddef>
#include <span>

namespace stagecraft {
namespace {

ExchangeRings rings_for(const Platform& platform, const Degrees& degrees) {
  return {&platform, MemberRings(static_cast<std::size_t>(degrees.tensor)),
          MemberRings(static_cast<std::size_t>(degrees.expert))};
}

/// The members of a replica, by rank.
void add_replica(std::span<const DeviceId> members, ExchangeRings& rings) {
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    rings.plain[rank % rings.plain.size()].push_back(members[rank]);
    rings.experts[rank % rings.experts.size()].push_back(members[rank]);
  }
}

}  // namespace

ExchangeRings exchange_rings(const Platform& platform, const Replicas& replicas, const std::vector<ReplicaId>& of) {
  if (platform.members) return exchange_rings(platform, devices_of(replicas, of));
  ExchangeRings rings = rings_for(platform, replicas.degrees());
  for (const ReplicaId replica : of) add_replica(replicas.members(replica), rings);
  return rings;
}

ExchangeRings exchange_rings(const Platform& platform, const std::vector<DeviceId>& devices) {
  if (!platform.members) return {&platform, {devices}, {devices}};
  const auto& [whole, groups, degrees] = *platform.members;
  ExchangeRings rings = rings_for(whole, degrees);
  for (const DeviceId device : devices) add_replica(groups[device].devices, rings);
  return rings;
}

std::vector<DeviceId> devices_of(const Replicas& replicas, const std::vector<ReplicaId>& of) {
  std::vector<DeviceId> devices;
  for (const ReplicaId replica : of) devices.push_back(replicas[replica].device);
  return devices;
}

}  // namespace stagecraft
