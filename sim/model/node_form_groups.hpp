#pragma once

#include "sim/model/platform_spec.hpp"

#include <cstdint>
#include <optional>

namespace stagecraft {

/// The nodes of a platform whose devices are groups of `size` neighbouring ones. Its bytes are those of each member of
/// a group, and all members move theirs at the same time, each to or from its counterpart of another group, which has
/// the same number. So a link that each member has is as wide as it was, and one that several members cross is divided
/// by how many these are. Host memory is divided by all members.
///
/// The uplinks of a fat tree switch become fewer where it has several, as if members were spread evenly over them. A
/// NIC that devices share, and to which each has a way inside the node, becomes the group's own; it then stands for
/// that way too.
/// **Returns** none where no node form says so: a node's devices do not divide into such groups, are joined in a ring
/// or a cube mesh, or share something of which a group's members use unequal parts.
/// **Requires** size > 1. **Cost** O(kinds of nodes · groups of nodes).
[[nodiscard]] std::optional<NodeForm> form_of_groups(const NodeForm& whole, std::uint32_t size);

}  // namespace stagecraft
