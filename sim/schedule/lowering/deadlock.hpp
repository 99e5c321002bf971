#pragma once

#include "sim/schedule/lower.hpp"
#include "sim/schedule/lowering/delivery.hpp"
#include "sim/schedule/lowering/lowering_state.hpp"
#include "sim/schedule/lowering/orders.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// Why no device can go on.
struct Standstill {
  std::string text;
  std::vector<StuckAction> actions;
};

/// The circle of devices of which each waits for an action that the next one has not run, or, if no such circle is
/// found (a channel's order takes part), the action at which each device waits. Where devices send and receive in
/// streams, a device waits at the next action of its order or at the first send or receive of its stream.
/// **Requires** orders of which no action can be lowered.
[[nodiscard]] Standstill standstill(const LoweringState& state, const Orders& orders, const Delivery& delivery);

}  // namespace stagecraft
