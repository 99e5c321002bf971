#include "sim/schedule/list/list_run.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft {

extern const ScheduleFamily family_zb_h2;

namespace {

/// A run in which forwards and halves take a second each. Device i of p begins with the 2 (p - i) - 1 forwards that it
/// has time for until the first gradient returns, and then takes forwards and input halves in turn. Weight halves fill
/// its idle seconds, and make room where 2 p microbatches are in flight.
FixedOrders zb_h2_orders(const FixedPipeline& pipeline, const Options& parameters) {
  const Placement placement = straight_placement(static_cast<std::size_t>(pipeline.devices), parameters);
  std::vector<std::int64_t> warmups;
  for (std::int64_t left = pipeline.devices; left > 0; --left) warmups.push_back(2 * left - 1);
  const ListRule rule{.turn = Turn::Alternating,
                      .caps = std::vector(placement.size(), 2 * pipeline.devices),
                      .halves = Halves{.warmups = std::move(warmups), .gap = 0.0}};
  Schedule schedule = unit_run(placement, rule, pipeline.microbatches).take(pipeline.microbatches);
  FixedOrders orders;
  for (DeviceOrder& order : schedule.devices) orders.push_back(std::move(order.actions));
  // Nobody waits for gradients of the first device. After its last forward, weight halves go first.
  std::vector<Action>& first = orders.front();
  const auto last = std::ranges::find(first.rbegin(), first.rend(), ActionKind::Forward, &Action::kind);
  std::ranges::stable_sort(last.base(), first.end(), {}, &Action::microbatch);
  return orders;
}

}  // namespace

const ScheduleFamily family_zb_h2{
    .name = "zb-h2",
    .summary = "split backwards with twice the memory of 1f1b, which fills the bubble between forwards; flushed",
    .source = "Zero Bubble Pipeline Parallelism (Qi et al., ICLR 2024)",
    .synchronous = true,
    .parameters = {},
    .orders = zb_h2_orders,
};

}  // namespace stagecraft
