#pragma once

#include "sim/schedule/schedule_family.hpp"

#include <array>
#include <cstdint>
#include <functional>

namespace stagecraft {

/// The slots of a microbatch's passes on a device: the forward of its first stage and of its second one, then the input
/// half of the backward of the second one and of the first one. Those of each next microbatch are six slots later.
using SlotOffsets = std::array<std::int64_t, 4>;

/// The orders of a V schedule, whose devices hold the stages i and 2 p - 1 - i. They are made on slots of one unit,
/// whatever the times are: the passes of a microbatch repeat every six slots, weight halves fill idle slots, and the
/// passes at the beginning and at the end move to earlier slots where no device then holds more than before.
/// **Requires** offsets of different remainders modulo six on each device, with which inputs come before their use.
/// **Cost** O(slots + p² · slots of the warm-up) for each device.
/// **Source** Qi et al., Pipeline Parallelism with Controllable Memory (NeurIPS 2024).
[[nodiscard]] FixedOrders v_slot_orders(const FixedPipeline& pipeline,
                                        const std::function<SlotOffsets(std::int64_t device)>& offsets);

}  // namespace stagecraft
