#pragma once

#include "sim/model/schedule.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace stagecraft {

/// Where the actions of orders stand in a table that has a row for each rank and a column for each step.
/// **Shape** by order in `Schedule::devices`, which is the rank, and by its action: the step, counted from 0. The
/// actions of a pair share one. Empty: the orders are of no table.
using OrderSteps = std::vector<std::vector<std::uint32_t>>;

/// Orders that a file gives.
struct GivenOrders {
  Schedule schedule;
  OrderSteps steps = {};
  friend bool operator==(const GivenOrders&, const GivenOrders&) = default;
};

/// Whether the order has sends or receives.
[[nodiscard]] inline bool has_marks(const DeviceOrder& order) {
  return std::ranges::any_of(order.actions, is_mark, &Action::kind);
}
/// Whether some device's order has.
[[nodiscard]] inline bool has_marks(const Schedule& schedule) {
  return std::ranges::any_of(schedule.devices, [](const DeviceOrder& order) { return has_marks(order); });
}

}  // namespace stagecraft
