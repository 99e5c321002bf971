#include "sim/schedule/fixed/dual_order.hpp"
#include "sim/schedule/fixed/placements.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace stagecraft {

extern const ScheduleFamily family_dualpipe;

namespace {

FixedOrders dualpipe_orders(const FixedPipeline& pipeline, const Options& /*parameters*/) {
  const std::int64_t p = pipeline.devices;
  FixedOrders orders;
  for (std::int64_t i = 0; i < p; ++i) {
    const std::int64_t depth = std::min(i, p - 1 - i);
    const std::int64_t down = i;
    const std::int64_t up = p + (p - 1 - i);
    DualDevice device{.stages = {down, up}, .depth = depth, .turn = p / 2};
    if (depth != i) device.stages = {up, down};
    device.steady = pipeline.microbatches / 2 - p + depth + 1;
    orders.push_back(dual_order(device));
  }
  return orders;
}

std::string dualpipe_needs(const FixedPipeline& pipeline, const Options& /*parameters*/) {
  const std::int64_t least = 2 * pipeline.devices;
  if (pipeline.microbatches >= least && pipeline.microbatches % 2 == 0) return "";
  return fmt::format("an even number of at least {} microbatches", least);
}

}  // namespace

const ScheduleFamily family_dualpipe{
    .name = "dualpipe",
    .summary = "two pipelines from both ends, whose forwards and backwards overlap, with two stages' weights; flushed",
    .source = "DeepSeek-V3 Technical Report (DeepSeek-AI, 2024)",
    .synchronous = true,
    .parameters = {},
    .orders = dualpipe_orders,
    .needs = dualpipe_needs,
    .even_devices = true,
    .placement = both_ways_placement,
};

}  // namespace stagecraft
