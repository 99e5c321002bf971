#include "sim/schedule/fixed/placements.hpp"
#include "sim/schedule/fixed/v_slots.hpp"
#include "sim/schedule/schedule_family.hpp"

namespace stagecraft {

extern const ScheduleFamily family_v_half;

namespace {

FixedOrders v_half_orders(const FixedPipeline& pipeline, const Options& /*parameters*/) {
  const std::int64_t p = pipeline.devices;
  const std::int64_t shift = p % 2 == 0 ? 3 : 0;  // keeps the blocks of different microbatches apart
  return v_slot_orders(pipeline, [&](std::int64_t i) {
    return SlotOffsets{2 * i, 3 * p - 2 - i, 3 * p - 1 + shift + 2 * i, 6 * p - 2 + shift - i};
  });
}

}  // namespace

const ScheduleFamily family_v_half{
    .name = "v-half",
    .summary = "split backwards on a V of two stages on each device, with about half the stashes of 1f1b; flushed",
    .source = "Pipeline Parallelism with Controllable Memory (Qi et al., NeurIPS 2024)",
    .synchronous = true,
    .parameters = {},
    .orders = v_half_orders,
    .placement = wave_placement,
};

}  // namespace stagecraft
