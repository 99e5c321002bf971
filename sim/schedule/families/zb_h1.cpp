#include "sim/schedule/fixed/device_order.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>

namespace stagecraft {

extern const ScheduleFamily family_zb_h1;

namespace {

/// The order of 1f1b. The first device runs its backwards whole. Device i splits the first i of them and those that
/// come after its last forward: weight halves of the first ones come at the end, of the last ones at once.
std::vector<Action> zb_h1_order(const FixedPipeline& pipeline, std::int64_t device) {
  const std::int64_t all = pipeline.microbatches;
  const std::int64_t warm = std::min(pipeline.devices - 1 - device, all);
  DeviceOrderWriter order;
  for (std::int64_t k = 0; k < warm; ++k) order.forward(device, k);
  for (std::int64_t k = 0; k < all; ++k) {
    if (warm + k < all) order.forward(device, warm + k);
    const bool comes_last = warm + k >= all - 1;
    if (device == 0 || (k >= device && !comes_last)) {
      order.backward(device, k);
      continue;
    }
    order.input(device, k);
    if (comes_last && k >= std::min(device, all - warm)) order.newest_weight();
  }
  while (order.has_pending()) order.newest_weight();
  return order.take();
}

FixedOrders zb_h1_orders(const FixedPipeline& pipeline, const Options& /*parameters*/) {
  FixedOrders orders;
  for (std::int64_t device = 0; device < pipeline.devices; ++device) orders.push_back(zb_h1_order(pipeline, device));
  return orders;
}

}  // namespace

const ScheduleFamily family_zb_h1{
    .name = "zb-h1",
    .summary = "1f1b that splits some backwards and delays their weight gradients, with the memory of 1f1b; flushed",
    .source = "Zero Bubble Pipeline Parallelism (Qi et al., ICLR 2024)",
    .synchronous = true,
    .parameters = {},
    .orders = zb_h1_orders,
};

}  // namespace stagecraft
