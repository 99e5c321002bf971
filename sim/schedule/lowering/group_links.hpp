#pragma once

#include "sim/base/index.hpp"
#include "sim/schedule/lowering/run_shape.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// By replica, whether something else of the run crosses a link that the exchanges of its group cross: exchanges of
/// another group, boundary tensors, gradients, or copies to hosts. With a table of bandwidths none does, since nothing
/// is known of links then.
/// **Requires** groups, on the platform's network.
/// **Cost** O(links on the ways of exchanges, of the transfers of one round of microbatches, and of all-reduces).
[[nodiscard]] IndexVector<ReplicaId, char> groups_that_share_links(const RunShape& shape,
                                                                   const std::vector<std::int64_t>& weight_versions);

}  // namespace stagecraft
