#pragma once

#include "sim/base/index.hpp"
#include "sim/model/platform.hpp"

#include <array>
#include <cstddef>
#include <vector>

namespace stagecraft::dapple {

/// Where the devices of the next stage come from.
enum class Policy {
  FreshFirst,    ///< nodes of which none is used yet, so that a stage stays within a node
  AppendFirst,   ///< nodes that are in use already, so that no devices are left over in them
  ScatterFirst,  ///< one device after the other from all nodes in use, or from all nodes while none is
};
inline constexpr std::array kPolicies = {Policy::FreshFirst, Policy::AppendFirst, Policy::ScatterFirst};

using Node = std::vector<DeviceId>;

/// Which devices are taken, by device.
using Used = std::vector<bool>;

/// `count` devices that are not used, ascending. When the nodes that a policy prefers are exhausted, the others serve,
/// in platform order.
/// **Requires** that many unused devices. **Cost** O(devices + count · nodes).
[[nodiscard]] std::vector<DeviceId> place(Policy policy, const std::vector<Node>& nodes, const Used& used,
                                          std::size_t count);

}  // namespace stagecraft::dapple
