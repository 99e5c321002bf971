#pragma once

#include "sim/base/index.hpp"
#include "sim/model/platform.hpp"

#include <array>
#include <cstddef>
#include <vector>

namespace stagecraft::dapple {

/// The nodes from which a policy takes the devices of the next stage.
enum class Policy {
  FreshFirst,    ///< nodes without used devices first, so that a stage stays within a node
  AppendFirst,   ///< nodes that are already in use first, so that no devices are left over in them
  ScatterFirst,  ///< in turn one device of each node that is in use; of all nodes if none is in use
};
inline constexpr std::array kPolicies = {Policy::FreshFirst, Policy::AppendFirst, Policy::ScatterFirst};

using Node = std::vector<DeviceId>;

/// By device: whether it is used.
using Used = std::vector<bool>;

/// `count` unused devices, ascending. If the nodes that a policy prefers do not have enough, the others follow in
/// platform order.
/// **Requires** that many unused devices. **Cost** O(devices + count · nodes).
[[nodiscard]] std::vector<DeviceId> place(Policy policy, const std::vector<Node>& nodes, const Used& used,
                                          std::size_t count);

}  // namespace stagecraft::dapple
