#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {

/// The figures of a plan: a planner's claim, or what an engine found.
struct Figures {
  std::optional<Seconds> iteration_time;  ///< synchronous schedules
  std::optional<Seconds> period;          ///< asynchronous schedules, per microbatch
  std::vector<std::pair<DeviceId, Bytes>> peak_memory;
  friend bool operator==(const Figures&, const Figures&) = default;
};

}  // namespace stagecraft
