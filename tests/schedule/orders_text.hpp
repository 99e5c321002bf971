#pragma once

#include "sim/model/schedule.hpp"

#include <string>

namespace stagecraft::testing {

inline std::string letter_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::Forward: return "F";
    case ActionKind::Backward: return "B";
    case ActionKind::BackwardInput: return "I";
    case ActionKind::BackwardWeight: return "W";
    default: return "?";
  }
}

/// The computations of a device in order, as `F0.1 B0.1` for stage 0 and microbatch 1; the halves of a backward are I
/// and W, and a `+` joins an action to the one before it.
inline std::string order_text(const DeviceOrder& order) {
  std::string text;
  for (const Action& action : order.actions) {
    text += (text.empty() ? "" : " ") + std::string(action.joined ? "+" : "") + letter_of(action.kind) +
            std::to_string(action.stage.value()) + "." + std::to_string(action.microbatch);
  }
  return text;
}

}  // namespace stagecraft::testing
