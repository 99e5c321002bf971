#pragma once

#include "planners/planner.hpp"
#include "planners/shared/savings/even_pipelines.hpp"
#include "sim/base/quantity.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft {

/// A cut of a shape, and how well its time is known: by its stages' times alone, by its claim if it fits as it is, then
/// by the figures of its stages with the actions that they need, then as a plan that fits. Each is at least the one
/// before.
struct EvenCut {
  enum class Known : std::uint8_t { Stages, AtLeast, Estimated, Exactly };
  /// The first cut; another one with the same largest stage, where the first does not fit as it is; and such a one with
  /// actions, where no actions make the first one fit.
  enum class Kind : std::uint8_t { First, TiedAsItIs, TiedWithActions };
  EvenShape shape = {};  ///< while only the stages' times are known; from then on the plan
  bool recomputes = false;
  Planned planned;
  Seconds time;
  std::size_t rank = 0;  ///< of equal times the first one wins
  Known known = Known::AtLeast;
  Kind kind = Kind::First;
};

struct IsLater {
  bool operator()(const EvenCut& a, const EvenCut& b) const {
    return std::pair(a.time, a.rank) > std::pair(b.time, b.rank);
  }
};

}  // namespace stagecraft
