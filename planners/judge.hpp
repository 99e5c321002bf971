#pragma once

#include "sim/base/quantity.hpp"

#include <functional>

namespace stagecraft {

struct Plan;

/// What an iteration of a plan takes.
struct Verdict {
  Seconds time;      ///< `kNever` if its devices would wait for each other, or its schedule refuses it
  bool fits = true;  ///< in the memory of all devices and hosts
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

/// Runs plans of a request for a planner that decides by runs. Planners do not replay themselves, since that takes a
/// process; who asks them hands this in. Plans are for the devices that the planner sees, as its answer.
struct Judge {
  /// Without contention, and no less than the plan's own lower bound: where the orders of work are fixed, no longer
  /// than `replay`. **Cost** that of an evaluation.
  std::function<Verdict(const Plan&)> evaluate;
  /// With contention, as `simulate` runs the plan. **Cost** that of a replay, with its process.
  std::function<Verdict(const Plan&)> replay;
};

}  // namespace stagecraft
