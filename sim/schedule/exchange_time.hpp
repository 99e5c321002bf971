#pragma once

#include "sim/model/exchange.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <vector>

namespace stagecraft {

/// The time of an exchange among the devices of a group, if nothing else uses their links; 0 for a device alone and for
/// one that is hidden. A reduce-scatter and an all-gather take half of what an all-reduce of their bytes takes.
/// **Cost** as `lowered_all_reduce_time`.
[[nodiscard]] Seconds exchange_time(const Platform& platform, const Group& group, const Exchange& exchange);

/// The sum of exchanges that follow each other.
[[nodiscard]] Seconds exchange_time(const Platform& platform, const Group& group,
                                    const std::vector<Exchange>& exchanges);

}  // namespace stagecraft
