#pragma once

#include "sim/model/platform.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft {

/// The devices of a node as runs of alike ones: a plan with any others of a run is the same with other names.
struct NodeRuns {
  std::vector<std::size_t> sizes;  ///< of its runs, in platform order
  /// Whether all is the same if this node and the one before it change names, unless a stage lies in both: its devices
  /// would then be in another order.
  bool is_like_last = false;
  /// By run: whether all is the same if it and the one before it change names. Empty: none.
  std::vector<char> are_like_last = {};
  friend bool operator==(const NodeRuns&, const NodeRuns&) = default;
};

/// The runs of a platform, by what is certain. Devices next to each other are a run if they have equal ways to all
/// others of their node (on one switch, with a link for each pair, or on one switch or socket of a PCIe tree), they are
/// of one kind and equally fast, with as much memory, and they have one NIC and host link. Nodes next to each other are
/// alike if they are of one kind and their devices are in all this. Elsewhere, and where the network is
/// neither a switch nor a link for each pair of nodes, or a link is not as its file says, each device is a run.
/// **Cost** O(devices + links).
[[nodiscard]] std::vector<NodeRuns> alike_devices(const Platform& platform);

}  // namespace stagecraft
