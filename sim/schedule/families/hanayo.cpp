#include "sim/schedule/fixed/placements.hpp"
#include "sim/schedule/list/list_run.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft {

extern const ScheduleFamily family_hanayo;

namespace {

/// A run of as many microbatches as there are devices: an idle device takes a backward that is ready, or else a
/// forward, of the oldest microbatch.
TimedOrders wave_unit(std::int64_t devices, const Options& parameters) {
  const Placement placement = wave_placement(static_cast<std::size_t>(devices), parameters);
  const ListRule rule{.turn = Turn::Backward, .caps = std::vector(placement.size(), devices)};
  return unit_run(placement, rule, devices).take_timed(devices);
}

/// Units one after the other, each begun after the time that a device works for the one before. Work is in the order of
/// its start, so the orders cannot deadlock.
FixedOrders wave_orders(const FixedPipeline& pipeline, const Options& parameters) {
  const Seconds period(static_cast<double>(3 * pipeline.devices * pipeline.chunks));
  FixedOrders orders;
  for (const std::vector<TimedAction>& unit : wave_unit(pipeline.devices, parameters)) {
    std::vector<TimedAction> all;
    for (std::int64_t first = 0; first < pipeline.microbatches; first += pipeline.devices) {
      const std::int64_t round = first / pipeline.devices;
      const Seconds begin = period * static_cast<double>(round);
      for (auto [start, action] : unit) {
        action.microbatch += static_cast<std::uint32_t>(first);
        if (std::cmp_less(action.microbatch, pipeline.microbatches)) all.push_back({begin + start, action});
      }
    }
    std::ranges::stable_sort(all, {}, &TimedAction::start);
    std::vector<Action>& order = orders.emplace_back();
    for (const TimedAction& timed : all) order.push_back(timed.action);
  }
  return orders;
}

}  // namespace

const ScheduleFamily family_hanayo{
    .name = "hanayo",
    .summary = "waves over the devices, with less bubble for each wave and the memory of 1f1b; flushed",
    .source = "Hanayo (Liu et al., SC 2023); its order is reconstructed",
    .synchronous = true,
    .parameters = {{.name = "waves",
                    .default_value = std::int64_t{1},
                    .description = "number of times that stages go down and up the devices",
                    .least = 1,
                    .most = 512}},
    .orders = wave_orders,
    .placement = wave_placement,
};

}  // namespace stagecraft
