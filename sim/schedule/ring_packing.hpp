#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft {

/// By two members, both ways round: how many rings may go between them; 0 for a member and itself.
using RingWidths = std::vector<std::vector<std::int64_t>>;

/// A ring through all members, from member 0 on, in the direction in which the second member is less than the last.
using RingOrder = std::vector<std::size_t>;

/// As many rings as the search finds, at most `most`, of which no more than its width go between any two members. One
/// ring may be there several times. The same widths give the same rings.
/// **Requires** at least three members. **Cost** a bounded search: it may find fewer rings than there are, which it
/// does not for the nodes of eight devices that are built.
[[nodiscard]] std::vector<RingOrder> pack_rings(const RingWidths& widths, std::size_t most);

}  // namespace stagecraft
