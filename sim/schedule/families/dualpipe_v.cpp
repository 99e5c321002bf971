#include "sim/schedule/fixed/dual_order.hpp"
#include "sim/schedule/fixed/placements.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <fmt/core.h>

namespace stagecraft {

extern const ScheduleFamily family_dualpipe_v;

namespace {

FixedOrders dualpipe_v_orders(const FixedPipeline& pipeline, const Options& /*parameters*/) {
  const std::int64_t p = pipeline.devices;
  FixedOrders orders;
  for (std::int64_t i = 0; i < p; ++i) {
    orders.push_back(dual_order(
        {.stages = {i, 2 * p - 1 - i}, .depth = i, .turn = p, .steady = pipeline.microbatches - 2 * p + i + 1}));
  }
  return orders;
}

std::string dualpipe_v_needs(const FixedPipeline& pipeline, const Options& /*parameters*/) {
  const std::int64_t least = 2 * pipeline.devices;
  return pipeline.microbatches >= least ? "" : fmt::format("at least {} microbatches", least);
}

}  // namespace

const ScheduleFamily family_dualpipe_v{
    .name = "dualpipe-v",
    .summary = "dualpipe on a V of two stages on each device, with each weight once; flushed",
    .source = "DualPipe's cut in half (Sea AI Lab, 2025), as released with DeepSeek-V3 (2024)",
    .synchronous = true,
    .parameters = {},
    .orders = dualpipe_v_orders,
    .needs = dualpipe_v_needs,
    .placement = wave_placement,
};

}  // namespace stagecraft
