#pragma once

#include "sim/base/index.hpp"
#include "sim/workload/operator_cost.hpp"

#include <cstdint>

namespace stagecraft {

/// The costs of all operators of a network, of which a tensor group of `members` has a part each.
///
/// A device runs kernels while the host launches those that come later, so only the sum matters: the forward or the
/// backward of a block, in which the device computes for a time G and the host launches for a time H, takes
/// (G^8 + H^8)^(1/8), hardly more than the longer of both. Every operator of the block takes its part of that, in
/// proportion to its own time. Operators that are recomputed (`is_recomputed`) run and are launched in the backward,
/// too.
/// **Requires** microbatch_size > 0, members > 0. **Throws** InputError where the device lacks the precision.
/// **Cost** O(operators).
[[nodiscard]] IndexVector<OperatorId, OperatorCost> network_costs(const Architecture& net,
                                                                  const DeviceDescription& device,
                                                                  std::int64_t microbatch_size,
                                                                  std::int64_t members = 1);

}  // namespace stagecraft
