#pragma once

#include "sim/base/index.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/workload/architecture.hpp"
#include "sim/workload/device.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// A computed profile whose times can be computed again for other constants of the device, which takes a small part of
/// the time that a profile takes. Its times are not rounded, so that they change smoothly with the constants.
struct RetimedProfile {
  Architecture member;  ///< the network, or the part of it that a member of a group has
  IndexVector<LayerId, std::vector<OperatorId>> operators;
  LayerGraph graph;
};

/// The profile that `build_model` computes, with times that are not rounded. **Requires** and **Throws** as that.
[[nodiscard]] RetimedProfile retimed_profile(const Architecture& architecture, const DeviceDescription& device,
                                             std::int64_t microbatch_size, Granularity granularity,
                                             const Degrees& degrees);

/// Computes the times of the profile again. **Requires** a device of the same precision, whose constants alone differ.
/// What the algorithms of a device hold while they run stays as it was.
/// **Cost** O(operators).
void retime(RetimedProfile& profile, const DeviceDescription& device);

}  // namespace stagecraft
