#pragma once

#include "sim/base/index.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace stagecraft {

/// Some of a platform's devices as a platform of its own, in the explicit form. Each pair has a link of its own: of the
/// smallest bandwidth and the whole latency of its ways. A host's memory is divided among its devices.
struct PlatformPart {
  Platform platform;
  IndexVector<DeviceId, DeviceId> devices;  ///< by device of the part: that of the whole platform
};

/// **Requires** that some device is left. **Cost** O(devices² log devices).
[[nodiscard]] PlatformPart platform_without(const Platform& whole, const std::vector<DeviceId>& left_out);

/// A platform's first devices as a platform of its own: of fewer nodes, or of a smaller node, where the network and the
/// interconnect of fewer is a part of theirs; else as `platform_without`. What has been observed of devices is kept.
/// **Requires** as many as some nodes have, or as are in the first node. **Cost** as `build_platform`, or as
/// `platform_without`.
[[nodiscard]] Platform first_devices(const Platform& whole, std::size_t count);

/// A plan for a part as one for the whole platform.
[[nodiscard]] Plan plan_on_whole(const PlatformPart& part, Plan plan);
/// A plan for the whole platform as one for a part; none if it uses a device that the part lacks.
[[nodiscard]] std::optional<Plan> plan_on_part(const PlatformPart& part, Plan plan);

}  // namespace stagecraft
