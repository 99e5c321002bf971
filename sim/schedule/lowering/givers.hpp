#pragma once

#include "sim/model/platform.hpp"

#include <vector>

namespace stagecraft {

/// Who gives what all `holders` have to whom: for each receiver a holder. No holder gives to more than its share of the
/// receivers, rounded up. A receiver prefers a holder in its node; else the one that gives to the fewest, then the one
/// whose node does, and the first of these. So without such neighbours receiver j gets it from holder j mod n if the
/// nodes have equally many in turn.
/// **Requires** at least one holder, and no receiver among them. **Cost** O(holders · receivers).
[[nodiscard]] std::vector<DeviceId> givers(const Platform& platform, const std::vector<DeviceId>& holders,
                                           const std::vector<DeviceId>& receivers);

}  // namespace stagecraft
