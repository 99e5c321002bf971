#pragma once

#include "planners/shared/costs/chain.hpp"
#include "sim/base/quantity.hpp"

#include <optional>
#include <vector>

namespace stagecraft {

/// The cut into the fewest stages of which each fits within `capacity` with one microbatch in flight; of several the
/// one whose first stage is the longest, then its second one, and so on, with what is behind on the fewest stages. None
/// if the devices are too few for all such cuts. **Requires** a plain chain.
/// **Cost** O(layers · (devices + log layers)), unless the tensors of many cuts differ so much that stages that end at
/// them do not fit; O(layers²) at worst.
[[nodiscard]] std::optional<std::vector<ChainStage>> fewest_stages(const Chain& chain, Bytes capacity);

}  // namespace stagecraft
