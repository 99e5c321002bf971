#include "sim/schedule/fixed/round_groups.hpp"

#include <algorithm>

namespace stagecraft {

FixedOrders RoundGroups::in_turn(std::int64_t ahead, const WriteBackward& write) const {
  FixedOrders orders;
  for (std::int64_t device = 0; device < pipeline_.devices; ++device) {
    const std::int64_t behind = pipeline_.devices - 1 - device;
    orders.push_back(order_of(device, (pipeline_.chunks - 1) * group_ + ahead * behind, write));
  }
  return orders;
}

std::vector<Action> RoundGroups::order_of(std::int64_t device, std::int64_t warmup, const WriteBackward& write) const {
  const std::int64_t all = pipeline_.chunks * pipeline_.microbatches;
  const std::int64_t warm = std::min(all, warmup);
  DeviceOrderWriter order;
  for (std::int64_t n = 0; n < all + warm; ++n) {
    if (n < all) {
      const auto [stage, microbatch] = place(device, n, false);
      order.forward(stage, microbatch);
    }
    if (n >= warm) write(order, device, n - warm, place(device, n - warm, true));
  }
  while (order.has_pending()) order.oldest_weight();
  return order.take();
}

/// Of the n-th forward of a device, or of its n-th backward.
RoundGroups::Place RoundGroups::place(std::int64_t device, std::int64_t n, bool backward) const {
  const std::int64_t first = n / (group_ * pipeline_.chunks) * group_;  // microbatch of the group
  const std::int64_t size = std::min(group_, pipeline_.microbatches - first);
  const std::int64_t in_group = n - first * pipeline_.chunks;
  const std::int64_t turn = in_group / size;
  const std::int64_t chunk = backward ? pipeline_.chunks - 1 - turn : turn;
  return {chunk * pipeline_.devices + device, first + in_group % size};
}

}  // namespace stagecraft
