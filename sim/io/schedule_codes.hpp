#pragma once

#include "sim/model/schedule.hpp"

#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

/// The letters of a schedule file's actions, for its reader and its writer.
inline const std::vector<std::pair<std::string, ActionKind>>& action_codes() {
  static const std::vector<std::pair<std::string, ActionKind>> kCodes = {
      {"F", ActionKind::Forward},        {"B", ActionKind::Backward},         {"I", ActionKind::BackwardInput},
      {"W", ActionKind::BackwardWeight}, {"SA", ActionKind::SendActivation},  {"RA", ActionKind::ReceiveActivation},
      {"SG", ActionKind::SendGradient},  {"RG", ActionKind::ReceiveGradient},
  };
  return kCodes;
}

}  // namespace stagecraft
