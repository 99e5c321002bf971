#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/platform.hpp"

#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {

/// Calls `add` with each link on the way of a boundary tensor, leg by leg. False if the devices are not connected.
bool for_each_boundary_link(const Platform& platform, DeviceId from, DeviceId to,
                            const std::function<void(LinkId)>& add);

/// What each replica of a stage gets of the links to the next stage if all replicas send at once, each to one of the
/// next stage: pairs whose ways share a link have equal parts of it. The smallest of all pairs; with one pair it is
/// `pair_bandwidth`. If a pair is not connected, that pair instead.
struct ReplicaBandwidth {
  std::optional<BytesPerSecond> bandwidth;  ///< none if no link is crossed
  std::optional<std::pair<DeviceId, DeviceId>> apart;
};
/// **Shape** equal numbers of devices. **Cost** O(pairs · links of a way).
[[nodiscard]] ReplicaBandwidth replica_bandwidth(const Platform& platform, const std::vector<DeviceId>& from,
                                                 const std::vector<DeviceId>& to);

}  // namespace stagecraft
