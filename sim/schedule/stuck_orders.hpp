#pragma once

#include "sim/schedule/lower.hpp"

#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

/// An action at which a device waits for ever.
struct StuckAction {
  DeviceId device;
  Action action;
};

/// A deadlock with the actions at which devices wait for each other.
class StuckOrders : public Deadlock {
 public:
  StuckOrders(const std::string& message, const std::string& hint, std::vector<StuckAction> actions)
      : Deadlock(message, {}, hint), actions_(std::move(actions)) {}
  /// **Shape** one for each device of the circle; without a circle, one for each device that waits.
  [[nodiscard]] const std::vector<StuckAction>& actions() const { return actions_; }

 private:
  std::vector<StuckAction> actions_;
};

}  // namespace stagecraft
