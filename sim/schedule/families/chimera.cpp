#include "sim/schedule/fixed/device_order.hpp"
#include "sim/schedule/fixed/placements.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {

extern const ScheduleFamily family_chimera;

namespace {

/// The slot of a forward or backward at `place` of a pipeline of `p` devices, with passes of one slot. A unit of p / 2
/// microbatches of each pipeline takes 2 p slots; those of the two pipelines fall between each other, since p is even.
std::int64_t slot_of(std::int64_t p, std::int64_t place, std::int64_t microbatch, bool backward) {
  const std::int64_t unit = microbatch / (p / 2);
  const std::int64_t in_unit = microbatch % (p / 2);
  return 2 * p * unit + 2 * in_unit + (backward ? 2 * p - 1 - place : place);
}

FixedOrders chimera_orders(const FixedPipeline& pipeline, const Options& /*parameters*/) {
  const std::int64_t p = pipeline.devices;
  FixedOrders orders;
  for (std::int64_t device = 0; device < p; ++device) {
    std::vector<std::pair<std::int64_t, Action>> slots;
    for (std::int64_t k = 0; k < pipeline.microbatches / 2; ++k) {
      for (const auto& [first, place] : {std::pair(std::int64_t{0}, device), std::pair(p, p - 1 - device)}) {
        slots.emplace_back(slot_of(p, place, k, false), action_of(ActionKind::Forward, first + place, k));
        slots.emplace_back(slot_of(p, place, k, true), action_of(ActionKind::Backward, first + place, k));
      }
    }
    std::ranges::sort(slots, {}, &std::pair<std::int64_t, Action>::first);
    std::vector<Action>& order = orders.emplace_back();
    for (const auto& [slot, action] : slots) order.push_back(action);
  }
  return orders;
}

std::string chimera_needs(const FixedPipeline& pipeline, const Options& /*parameters*/) {
  return pipeline.microbatches % 2 == 0 ? "" : "an even number of microbatches";
}

}  // namespace

const ScheduleFamily family_chimera{
    .name = "chimera",
    .summary = "two pipelines from both ends, half the bubble of 1f1b with two stages' weights; flushed",
    .source = "Chimera (Li and Hoefler, SC 2021)",
    .synchronous = true,
    .parameters = {},
    .orders = chimera_orders,
    .needs = chimera_needs,
    .even_devices = true,
    .placement = both_ways_placement,
};

}  // namespace stagecraft
