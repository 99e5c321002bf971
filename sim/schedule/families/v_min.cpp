#include "sim/schedule/fixed/placements.hpp"
#include "sim/schedule/fixed/v_slots.hpp"
#include "sim/schedule/schedule_family.hpp"

namespace stagecraft {

extern const ScheduleFamily family_v_min;

namespace {

FixedOrders v_min_orders(const FixedPipeline& pipeline, const Options& /*parameters*/) {
  const std::int64_t p = pipeline.devices;
  const std::int64_t shift = p % 3 == 0 ? 2 : 0;  // keeps the blocks of different microbatches apart
  return v_slot_orders(pipeline, [&](std::int64_t i) {
    return SlotOffsets{i, 2 * p - 1 - i, 2 * p + shift + i, 4 * p - 1 + shift - i};
  });
}

}  // namespace

const ScheduleFamily family_v_min{
    .name = "v-min",
    .summary =
        "split backwards on a V of two stages on each device, with about a third of the stashes of 1f1b; flushed",
    .source = "Pipeline Parallelism with Controllable Memory (Qi et al., NeurIPS 2024)",
    .synchronous = true,
    .parameters = {},
    .orders = v_min_orders,
    .placement = wave_placement,
};

}  // namespace stagecraft
