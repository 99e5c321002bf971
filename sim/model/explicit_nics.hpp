#pragma once

#include "sim/model/platform.hpp"

#include <vector>

namespace stagecraft {

/// Numbers the NICs of the devices of an explicit form that names nodes, in each node in the order of its devices. A
/// device's NIC is the narrowest link, and the first of several, on its widest way to another node, and the shortest of
/// several; both directions are one NIC. `rows` has a row for each link between devices, in their order.
/// **Cost** O(links on all routes + devices · log links).
void number_nics(Platform& platform, const std::vector<LinkRow>& rows);

}  // namespace stagecraft
