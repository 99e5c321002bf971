#include "sim/schedule/fixed/device_order.hpp"
#include "sim/schedule/fixed/placements.hpp"
#include "sim/schedule/fixed/round_groups.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace stagecraft {

extern const ScheduleFamily family_interleaved_zb_h1;

namespace {

/// PyTorch divides the microbatches into as many groups as there are whole ones of a microbatch for each device.
std::int64_t groups_of(const FixedPipeline& pipeline) {
  return std::max<std::int64_t>(1, pipeline.microbatches / pipeline.devices);
}

std::int64_t group_size(const FixedPipeline& pipeline, const Options& /*parameters*/) {
  return pipeline.microbatches / groups_of(pipeline);
}

/// The order of interleaved-1f1b with half the warm-up for the devices behind. All backwards are split: device i runs
/// i input halves before its first weight half, and then one weight half after each of them.
FixedOrders split_orders(const FixedPipeline& pipeline, const Options& parameters) {
  return RoundGroups(pipeline, group_size(pipeline, parameters))
      .in_turn(1, [](DeviceOrderWriter& order, std::int64_t device, std::int64_t n, const RoundGroups::Place& place) {
        order.input(place.stage, place.microbatch);
        if (n >= device) order.oldest_weight();
      });
}

std::string equal_groups(const FixedPipeline& pipeline, const Options& /*parameters*/) {
  if (pipeline.microbatches % groups_of(pipeline) == 0) return "";
  return fmt::format("{} equal groups of microbatches", groups_of(pipeline));
}

}  // namespace

const ScheduleFamily family_interleaved_zb_h1{
    .name = "interleaved-zb-h1",
    .summary = "zb-h1 with several stages on each device; flushed at the end of the iteration",
    .source = "Zero Bubble Pipeline Parallelism (Qi et al., ICLR 2024), in the order of PyTorch's interleaved ZB1P",
    .synchronous = true,
    .parameters = {chunks_parameter()},
    .orders = split_orders,
    .needs = equal_groups,
    .repeats = group_size,
    .placement = round_placement,
};

}  // namespace stagecraft
