#pragma once

#include "planners/shared/costs/all_reduces.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/platform.hpp"

#include <optional>
#include <vector>

namespace stagecraft {

/// What all-reduces among the replicas of a stage take, as the platform's `collectives` run them, without latencies. In
/// one ring of r devices it is 2 (r - 1) / r times the bytes over the smallest bandwidth of neighbours. Devices that
/// stand for groups have the rings of their members (`exchange_rings`): then it is proportional to the bytes, as for
/// many of them.
class RingTime {
 public:
  /// **Requires** replicas of one device each, in the order of the ring, and a platform that outlives this.
  /// **Throws** InputError if two neighbours are not connected.
  RingTime(const Platform& platform, std::vector<DeviceId> devices);

  /// `experts`: the part of the bytes that is parameters of experts.
  [[nodiscard]] Seconds operator()(Bytes bytes, double experts = 0.0) const;

 private:
  struct OfMembers {
    AllReduceTime plain;
    AllReduceTime experts;
  };

  const Platform* platform_;
  std::vector<DeviceId> devices_;
  std::optional<OfMembers> of_members_;
};

}  // namespace stagecraft
