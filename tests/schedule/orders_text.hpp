#pragma once

#include "sim/model/schedule.hpp"

#include <string>

namespace stagecraft::testing {

/// The computations of a device in order, as `F0.1 B0.1` for stage 0 and microbatch 1.
inline std::string order_text(const DeviceOrder& order) {
  std::string text;
  for (const Action& action : order.actions) {
    text += (text.empty() ? "" : " ") + std::string(action.kind == ActionKind::Forward ? "F" : "B") +
            std::to_string(action.stage.value()) + "." + std::to_string(action.microbatch);
  }
  return text;
}

}  // namespace stagecraft::testing
