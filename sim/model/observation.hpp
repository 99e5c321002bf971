#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// Measurements of one stage since the last window was asked for.
struct StageObservation {
  std::int64_t forwards = 0;
  std::int64_t backwards = 0;
  Seconds forward_time;   ///< sum, stalls excluded
  Seconds backward_time;  ///< sum, both halves of a split backward
  friend bool operator==(const StageObservation&, const StageObservation&) = default;
};

/// The information for an online planner when the next window is made: measurements up to now, nothing of the future.
struct Observation {
  Seconds now;
  std::uint32_t microbatches_injected = 0;        ///< forwards of the first stage that have started
  IndexVector<StageId, StageObservation> stages;  ///< that windows have announced so far
  friend bool operator==(const Observation&, const Observation&) = default;
};

}  // namespace stagecraft
