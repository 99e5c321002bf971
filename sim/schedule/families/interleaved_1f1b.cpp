#include "sim/base/error.hpp"
#include "sim/schedule/fixed/device_order.hpp"
#include "sim/schedule/fixed/placements.hpp"
#include "sim/schedule/fixed/round_groups.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <fmt/core.h>

namespace stagecraft {

extern const ScheduleFamily family_interleaved_1f1b;

namespace {

/// The microbatches of a group.
std::int64_t group_of(const FixedPipeline& pipeline, const Options& parameters) {
  const std::int64_t group = parameters.count("group");
  return group == 0 ? pipeline.devices : group;
}

/// Warm-up forwards, with two more for each device behind, then forwards and backwards in turn.
FixedOrders interleaved_orders(const FixedPipeline& pipeline, const Options& parameters) {
  return RoundGroups(pipeline, group_of(pipeline, parameters))
      .in_turn(2, [](DeviceOrderWriter& order, std::int64_t, std::int64_t, const RoundGroups::Place& place) {
        order.backward(place.stage, place.microbatch);
      });
}

/// As Megatron-LM: the last group may be smaller, but has a microbatch for each device.
std::string filled_groups(const FixedPipeline& pipeline, const Options& parameters) {
  const std::int64_t devices = pipeline.devices;
  const std::int64_t group = group_of(pipeline, parameters);
  if (group < devices) {
    throw InputError(fmt::format("interleaved-1f1b needs groups of at least {} microbatches, one for each device, but "
                                 "'group' is {}",
                                 devices, group),
                     {}, fmt::format("choose group={} or more", devices));
  }
  const std::int64_t last = pipeline.microbatches % group;
  if (pipeline.microbatches >= group && (last == 0 || last >= devices)) return "";
  if (group == devices) return fmt::format("a multiple of {} microbatches", devices);
  return fmt::format("a multiple of {} microbatches, or at least {} more", group, devices);
}

}  // namespace

const ScheduleFamily family_interleaved_1f1b{
    .name = "interleaved-1f1b",
    .summary =
        "1f1b with several stages on each device, which shortens the bubble; flushed at the end of the iteration",
    .source = "Megatron-LM (Narayanan et al., SC 2021)",
    .synchronous = true,
    .parameters = {chunks_parameter(),
                   {.name = "group",
                    .default_value = std::int64_t{0},
                    .description = "microbatches that go through one chunk before the next; 0: one for each device",
                    .least = 0,
                    .most = 1'000'000}},
    .orders = interleaved_orders,
    .needs = filled_groups,
    .repeats = group_of,
    .placement = round_placement,
};

}  // namespace stagecraft
