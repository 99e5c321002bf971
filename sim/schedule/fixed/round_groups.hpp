#pragma once

#include "sim/schedule/fixed/device_order.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace stagecraft {

/// The order in which the devices of a pipeline whose stages go round them take virtual microbatches. Microbatches go
/// in groups: a group goes through the first chunk, then through the next one, and so on. Backwards take the chunks in
/// reverse. The last group may have fewer microbatches.
class RoundGroups {
 public:
  /// **Requires** a `group` of at least 1.
  RoundGroups(const FixedPipeline& pipeline, std::int64_t group) : pipeline_(pipeline), group_(group) {}

  struct Place {
    std::int64_t stage = 0;
    std::int64_t microbatch = 0;
  };
  /// Writes the n-th backward of a device, counted from 0.
  using WriteBackward =
      std::function<void(DeviceOrderWriter& order, std::int64_t device, std::int64_t n, const Place& place)>;

  /// The orders in which each device runs the forwards that fill its chunks and `ahead` more for each device behind it,
  /// then a forward and a backward in turn, then the remaining backwards and weight halves.
  [[nodiscard]] FixedOrders in_turn(std::int64_t ahead, const WriteBackward& write) const;

 private:
  [[nodiscard]] std::vector<Action> order_of(std::int64_t device, std::int64_t warmup,
                                             const WriteBackward& write) const;
  [[nodiscard]] Place place(std::int64_t device, std::int64_t n, bool backward) const;

  FixedPipeline pipeline_;
  std::int64_t group_;
};

}  // namespace stagecraft
