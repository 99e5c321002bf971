#include "sim/schedule/fixed/device_order.hpp"
#include "sim/schedule/fixed/placements.hpp"
#include "sim/schedule/schedule_family.hpp"

namespace stagecraft {

extern const ScheduleFamily family_looped_bfs;

namespace {

/// All forwards of each chunk in turn, then all backwards of the chunks in reverse, the last microbatch first.
FixedOrders looped_orders(const FixedPipeline& pipeline, const Options& /*parameters*/) {
  FixedOrders orders;
  for (std::int64_t device = 0; device < pipeline.devices; ++device) {
    DeviceOrderWriter order;
    for (std::int64_t chunk = 0; chunk < pipeline.chunks; ++chunk) {
      for (std::int64_t k = 0; k < pipeline.microbatches; ++k) order.forward(chunk * pipeline.devices + device, k);
    }
    for (std::int64_t chunk = pipeline.chunks; chunk-- > 0;) {
      for (std::int64_t k = pipeline.microbatches; k-- > 0;) order.backward(chunk * pipeline.devices + device, k);
    }
    orders.push_back(order.take());
  }
  return orders;
}

}  // namespace

const ScheduleFamily family_looped_bfs{
    .name = "looped-bfs",
    .summary = "gpipe with several stages on each device; flushed at the end of the iteration",
    .source = "Breadth-First Pipeline Parallelism (Lamy-Poirier, MLSys 2023), in the order of PyTorch",
    .synchronous = true,
    .parameters = {chunks_parameter()},
    .orders = looped_orders,
    .placement = round_placement,
};

}  // namespace stagecraft
