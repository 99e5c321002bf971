#pragma once

#include "sim/model/platform.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/all_reduce.hpp"

#include <vector>

namespace stagecraft {

/// The rings in which devices with the same parameters exchange them. A device that stands for a group has members,
/// whose rings these are (`Platform::members`).
struct ExchangeRings {
  const Platform* platform;  ///< of the rings; lives as long as the platform of the replicas
  MemberRings plain;         ///< of what a tensor group divides
  MemberRings experts;
};

/// Those of replicas, in their order.
[[nodiscard]] ExchangeRings exchange_rings(const Platform& platform, const Replicas& replicas,
                                           const std::vector<ReplicaId>& of);
/// Those of replicas that are one device each.
[[nodiscard]] ExchangeRings exchange_rings(const Platform& platform, const std::vector<DeviceId>& devices);

/// Of each replica the device, or the first one of its group.
[[nodiscard]] std::vector<DeviceId> devices_of(const Replicas& replicas, const std::vector<ReplicaId>& of);

}  // namespace stagecraft
