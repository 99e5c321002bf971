#pragma once

#include "sim/base/index.hpp"
#include "sim/model/platform.hpp"

#include <cstddef>
#include <functional>
#include <vector>

namespace stagecraft::exhaustive {

/// The devices of a node as runs of alike ones. Of a run, stages take the first devices that are free: any others of it
/// would be the same plan with other names.
struct NodeRuns {
  std::vector<std::size_t> sizes;  ///< of its runs, in platform order
  /// Whether all is the same if this node and the one before it change names. Then this one is used no earlier than
  /// that one, unless a stage lies in both, whose devices would be in another order.
  bool is_like_last = false;
  friend bool operator==(const NodeRuns&, const NodeRuns&) = default;
};

/// All devices as if they were one run: stages take them in platform order.
[[nodiscard]] std::vector<NodeRuns> in_platform_order(const Platform& platform);

/// The runs of a platform, by what is certain. Devices next to each other are a run if one switch joins them in a node,
/// they are of one kind and equally fast, with as much memory, and they have one NIC and host link. Nodes next to each
/// other are alike if they are of one kind and their devices are in all this. Elsewhere, and where the network is
/// neither a switch nor a link for each pair of nodes, or a link is not as its file says, each device is a run.
/// **Cost** O(devices + links).
[[nodiscard]] std::vector<NodeRuns> alike_devices(const Platform& platform);

/// What stages have left of devices.
struct FreeDevices {
  std::vector<std::size_t> left;  ///< by run; the last ones of the run
  /// By node: whether it was used before the like one before it. Then a stage has to lie in both.
  std::vector<char> owes;
  friend bool operator==(const FreeDevices&, const FreeDevices&) = default;
};

[[nodiscard]] FreeDevices all_free(const std::vector<NodeRuns>& nodes);

/// Whether stages may end here.
[[nodiscard]] bool may_stay(const FreeDevices& free);

/// Calls `use` with what is left after each choice of so many devices for a stage: those that take more of the first
/// runs come first.
void for_each_choice(const std::vector<NodeRuns>& nodes, const FreeDevices& free, std::size_t replicas,
                     const std::function<void(const FreeDevices&)>& use);

/// The devices that are free in `before` and not in `after`, ascending.
[[nodiscard]] std::vector<DeviceId> taken(const std::vector<NodeRuns>& nodes, const FreeDevices& before,
                                          const FreeDevices& after);

}  // namespace stagecraft::exhaustive
